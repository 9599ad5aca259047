#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache show`: the items of a query, without the network.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the items of a query, without the network.",
        discussion: """
            A pipe or file receives each item as the origin sent it, one per line. Line
            breaks inside an item become spaces. --fields selects members of the items: a
            terminal shows a table of them, a pipe or file receives objects. Without
            --fields, --format table has one line for each item, and --format csv has the
            columns offset, id and payload. The exit code is 75 in three cases: a requested
            position is missing, or its item is left from before the list was replaced;
            more items are requested than stored, and the end of the list is not known
            yet; an id is not found, and positions are missing.

            EXAMPLES
              pagecache show 4k2m9xqa
              pagecache show 4k2m9xqa --offset 1000 --limit 50
              pagecache show 4k2m9xqa --id 4711
              pagecache show 4k2m9xqa --id '"4711"'
              pagecache show 4k2m9xqa --fields /id,/owner/name
              pagecache show 4k2m9xqa --fields /id,/owner/name --format csv
              pagecache show 4k2m9xqa | jq -r .name
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @Option(help: ArgumentHelp("The position of the first item.", valueName: "n"))
    var offset = 0
    @Option(help: ArgumentHelp("The number of items. Default: 20 on a terminal, all elsewhere.", valueName: "n"))
    var limit: Int?
    @Option(
        help: ArgumentHelp(
            "Only the item with this id, a number or a string. Double quotes, as in JSON, select the string only.",
            valueName: "id"))
    var id: String?
    @Option(
        help: ArgumentHelp(
            "Only these fields of each item, in this order: JSON Pointers, or NAME=POINTER, separated by commas.",
            valueName: "pointers")
    )
    var fields: String?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if id != nil, limit != nil || offset != 0 {
            throw ValidationError("--id names one item; it takes no --offset and no --limit")
        }
        guard offset >= 0 else { throw ValidationError("--offset is \(offset)") }
        if let limit, limit < 0 { throw ValidationError("--limit is \(limit)") }
        try FieldPointer.validate(fields)
    }

    func run() async throws {
        common.apply()
        try await common.withStore(.reading) { store in try await show(store) }
    }

    /// The largest number of times that a short range is read again because the list changed meanwhile.
    private static let restarts = 20

    private func show(_ store: any ToolStore) async throws {
        let record = try await QuerySelector.find(query, in: store)
        guard record.validatedAt != nil else {
            throw ToolFailure(
                .notFound, "never_fetched", "'\(query)' was never fetched",
                hint: "'\(record.syncCommand)' fetches it")
        }
        if let id { return try await show(ItemSelector(id), of: tail(of: record, in: store), in: store) }
        let terminal = Terminal.standard
        let positions = ShownPositions(offset: offset, limit: limit ?? (terminal.outputIsTerminal ? 20 : Int.max))
        let written =
            try await positions.limit <= ShowWriting.pieceSize
            ? writeShort(positions, record, store) : write(positions, record, store)
        let end = written.range.upperBound
        let rest =
            try await terminal.outputIsTerminal && end < written.list.length
            ? store.excerpt(of: record.id, end..<Int.max) : nil
        try finish(written, positions, rest?.rest(from: end), terminal)
    }

    /// Writes a range of any length. One transaction reads it, piece by piece.
    private func write(_ positions: ShownPositions, _ record: QueryRecord, _ store: any ToolStore) async throws
        -> ShowWriting.Written
    {
        try await Terminal.standard.writingInTransaction {
            var writing = ShowWriting(try writer(.standard), positions)
            try await store.eachPiece(of: record.id) { try writing.next($0, after: $1) }
            guard let written = try writing.finish() else { throw gone }
            return written
        }
    }

    /// Writes a range of at most `ShowWriting.pieceSize` items, without reading the records of all pages.
    private func writeShort(_ positions: ShownPositions, _ record: QueryRecord, _ store: any ToolStore) async throws
        -> ShowWriting.Written
    {
        for _ in 0...Show.restarts {
            let list = try await tail(of: record, in: store)
            let range = positions.range(of: list)
            guard let window = try await store.window(of: record.id, range) else { throw gone }
            guard window.version == list.record.version else { continue }
            var writer = try writer(.standard)
            try writer.begin()
            try writer.write(window)
            try writer.end()
            return ShowWriting.Written(
                list: list, range: range, held: window.parts.filter(\.isHeld).map(\.range),
                damaged: window.damaged.map { $0.clamped(to: range) })
        }
        throw ToolFailure(.incomplete, "list_moved", "the list was changed while it was read", hint: "try again")
    }

    // MARK: Messages

    /// - Parameter rest: the sentence about the positions after the written ones. `nil` means no sentence.
    private func finish(
        _ written: ShowWriting.Written, _ positions: ShownPositions, _ rest: String?, _ terminal: Terminal
    ) throws {
        let list = written.list
        let id = list.record.key.shortID
        let length = list.shownLength
        if offset >= length, length > 0 {
            let reason =
                list.record.windowText ?? "the list has \(SizeText.count(length, "item", "items"))"
            terminal.note("pagecache: \(reason); there is none at \(SizeText.count(offset))")
        }
        if length == 0, terminal.outputIsTerminal, !list.record.hasUnknownEnd {
            terminal.note("pagecache: the list has no items")
        }
        // Output with missing positions says so, because a list with a gap must not look complete (R12).
        let gaps = Coverage(written.held + written.damaged).gaps(
            in: written.range.clamped(to: 0..<list.reachableLength))
        if let first = gaps.first {
            let count = gaps.reduce(0) { $0 + $1.count }
            terminal.complain(
                "incomplete: \(SizeText.count(count, "position is", "positions are")) missing or old, from \(SizeText.count(first.lowerBound)) on; 'pagecache pages \(id)' shows them"
            )
        }
        if let rest { terminal.note("… \(rest)") }
        guard written.damaged.isEmpty else {
            throw ToolFailure(
                .unusableData, "damaged", DamageText.sentence(written.damaged), hint: DamageText.remedy(list.record))
        }
        let isEndMissing = positions.exceeds(list) && gaps.isEmpty && list.record.hasUnknownEnd
        if isEndMissing {
            terminal.complain(
                "incomplete: the end of the list is not known yet; \(list.record.nextStep)")
        }
        let isUnproven = positions.exceeds(list) && gaps.isEmpty && !isEndMissing && list.record.isUnproven
        if isUnproven, let reason = list.record.unprovenText { terminal.complain("unproven: \(reason)") }
        if !gaps.isEmpty || isEndMissing || isUnproven { throw ToolProcess.Ended(status: .incomplete) }
    }

    // MARK: Reading

    private var gone: ToolFailure {
        ToolFailure(
            .notFound, "no_such_query", "'\(query)' was purged just now",
            hint: "'pagecache list' shows the stored queries")
    }

    /// The part of the list that determines its length: its record and its last page. Every page when the length is
    /// unknown.
    private func tail(of record: QueryRecord, in store: any ToolStore) async throws -> ListOutline {
        let known = record.end ?? record.total.count
        guard let list = try await store.excerpt(of: record.id, known.map { max(0, $0 - 1)..<Int.max } ?? 0..<Int.max)
        else {
            throw gone
        }
        return list
    }

    private func show(_ selector: ItemSelector, of list: ListOutline, in store: any ToolStore) async throws {
        let places = try await store.locate(Set(selector.keys), in: list.record.id)
        var found: [ListWindow] = []
        for position in places.values.map(\.position).sorted() {
            guard let window = try await store.window(of: list.record.id, position..<position + 1),
                let part = window.parts.first, selector.matches(part.content.ids, at: 0)
            else { continue }
            found.append(window)
        }
        guard !found.isEmpty else { throw try await missing(selector, list.record, in: store) }
        var writer = try writer(.standard)
        try writer.begin()
        for window in found { try writer.write(window) }
        try writer.end()
        if found.count > 1 {
            Terminal.standard.note(
                "pagecache: two items have the id \(Printable.text(selector.text)), one as a string and one as a number; --id '\"\(Printable.text(selector.text))\"' shows the string only"
            )
        }
    }

    /// The error for an id that no readable item has. The item may be damaged, or at a missing position.
    private func missing(_ selector: ItemSelector, _ record: QueryRecord, in store: any ToolStore) async throws
        -> ToolFailure
    {
        guard let list = try await store.outline(of: record.id) else { return gone }
        let id = Printable.text(selector.text)
        let damage = try await store.damage(of: record.id, thoroughly: true)
        if !damage.isNone {
            let sentence = damage.pages.isEmpty ? "the store is damaged" : DamageText.sentence(damage.pages)
            return ToolFailure(
                .unusableData, "damaged", "no readable item has the id '\(id)', and \(sentence)",
                hint: DamageText.remedy(list.record))
        }
        let missing = list.coverage.gaps(below: list.reachableLength).reduce(0) { $0 + $1.count }
        if missing == 0, !list.isUnproven, list.isComplete || list.record.isCutOff {
            return ToolFailure(
                .notFound, "no_such_item", "no item of the list has the id '\(id)'", hint: list.record.windowText)
        }
        let reason =
            missing > 0
            ? SizeText.count(missing, "position is missing", "positions are missing")
            : list.record.unprovenText ?? "the end of the list is not known yet"
        return ToolFailure(
            .incomplete, "item_missing", "no stored item has the id '\(id)', and \(reason)",
            hint: list.isUnproven ? nil : "'\(list.record.syncCommand)' fetches the rest of the list")
    }

    private func writer(_ terminal: Terminal) throws(ToolFailure) -> ItemWriter {
        try ItemWriter(format: common.namedFormat, fields: fields.flatMap(FieldPointer.list), terminal: terminal)
    }
}
#endif
