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
            breaks inside an item become spaces. --fields selects members: a table on a
            terminal, objects elsewhere. The exit code is 75 when a requested position is
            missing or not up to date, when more items are requested than stored and the end
            of the list is not known yet, and when an id is not found while positions are
            missing.

            EXAMPLES
              pagecache show 4k2m9xqa
              pagecache show 4k2m9xqa --offset 1000 --limit 50
              pagecache show 4k2m9xqa --id 4711
              pagecache show 4k2m9xqa --id '"4711"'
              pagecache show 4k2m9xqa --fields /id,/owner/name
              pagecache show 4k2m9xqa --fields /id,/owner/name --format csv
              pagecache show 4k2m9xqa | jq -r .name
            """)

    /// The number of items that are read at a time, so that memory does not grow with the list.
    private static let stride = 1_000

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
        guard offset >= 0 else { throw ValidationError("--offset must not be negative, and is \(offset)") }
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative, and is \(limit)") }
        try FieldPointer.validate(fields)
    }

    func run() async throws {
        common.apply()
        try await common.withStore(.reading) { store in try await show(store) }
    }

    /// The most bytes of items that are read in one transaction and kept in memory: 32 MiB.
    private static let mostInMemory = 32 << 20
    /// The largest number of times that a list is read again because it changed before any output.
    private static let restarts = 20

    private func show(_ store: any ToolStore) async throws {
        for attempt in 0... {
            var hasBegun = false
            do {
                return try await show(store, &hasBegun)
            } catch let failure as ToolFailure where failure.code == Show.moved.code {
                guard !hasBegun, attempt < Show.restarts else { throw failure }
            }
        }
    }

    private static let moved = ToolFailure(
        .incomplete, "list_moved", "the list was changed while it was read", hint: "try again")

    /// Reads pieces of a list in one transaction, where memory allows it and one piece would not be enough. Otherwise
    /// reads the first piece.
    private func first(_ pieces: [Range<Int>], of record: QueryRecord, in store: any ToolStore) async throws
        -> [ListWindow]
    {
        guard pieces.count > 1, try await store.summary(of: record.id)?.bytes ?? .max <= Show.mostInMemory else {
            guard let piece = pieces.first else { return [] }
            return [try await read(piece, of: record, in: store)]
        }
        guard let reading = try await store.list(of: record.id, reading: { _ in pieces }),
            reading.outline.record.version == record.version
        else { throw Show.moved }
        return reading.windows
    }

    private func read(_ range: Range<Int>, of record: QueryRecord, in store: any ToolStore) async throws
        -> ListWindow
    {
        guard let window = try await store.window(of: record.id, range), window.version == record.version else {
            throw Show.moved
        }
        return window
    }

    private func show(_ store: any ToolStore, _ hasBegun: inout Bool) async throws {
        let terminal = Terminal.standard
        let list = try await tail(of: try await QuerySelector.find(query, in: store), in: store)
        let length = max(list.length, list.pages.last?.range.upperBound ?? 0)
        let wanted = limit ?? (terminal.outputIsTerminal ? 20 : Int.max)
        let end = min(length, offset.addingReportingOverflow(wanted).overflow ? length : offset + wanted)
        guard list.record.validatedAt != nil else {
            throw ToolFailure(
                .notFound, "never_fetched", "'\(query)' was never fetched",
                hint: "'pagecache sync \(list.record.key.shortID)' fetches it")
        }
        if let id { return try await show(ItemSelector(id), of: list, in: store) }
        if offset >= length, length > 0 {
            let reason =
                list.record.windowText ?? "the list has \(SizeText.count(length, "item", "items"))"
            terminal.note("pagecache: \(reason); there is none at \(SizeText.count(offset))")
        }

        var writer = try writer(terminal)
        let asked = offset..<max(end, offset)
        let shown = try await outline(of: list.record.id, asked, in: store)
        var damaged = shown.damaged.filter { $0.isEmpty ? asked.contains($0.lowerBound) : $0.overlaps(asked) }.map {
            $0.clamped(to: asked)
        }
        let pieces = Show.pieces(of: shown, asked)
        let early = try await first(pieces, of: list.record, in: store)
        hasBegun = true
        try writer.begin()
        for (index, range) in pieces.enumerated() {
            try Task.checkCancellation()
            let window: ListWindow
            if index < early.count {
                window = early[index]
            } else {
                window = try await read(range, of: list.record, in: store)
            }
            try writer.write(window)
            damaged += window.damaged.filter { !damaged.contains($0) }
        }
        try writer.end()
        let isWhole = tell(list, shown.coverage, asked, terminal)
        let asksForMore = offset.addingReportingOverflow(wanted).overflow || offset + wanted > length
        let isEndMissing = asksForMore && isWhole && damaged.isEmpty && list.record.hasUnknownEnd
        if isEndMissing {
            terminal.complain(
                "incomplete: the end of the list is not known yet; 'pagecache sync \(list.record.key.shortID)' continues"
            )
        }
        if !damaged.isEmpty {
            throw ToolFailure(
                .unusableData, "damaged", DamageText.sentence(damaged),
                hint:
                    "'pagecache sync \(list.record.key.shortID)' fetches them again, and 'pagecache verify --repair' repairs the store"
            )
        }
        if !isWhole || isEndMissing { throw ToolProcess.Ended(status: .incomplete) }
    }

    /// The stretches that contain pages. The length alone is no safe bound: it comes from an origin, and may be any
    /// number.
    private static func pieces(of list: ListOutline, _ asked: Range<Int>) -> [Range<Int>] {
        Coverage(list.pages.map(\.range)).segments.flatMap { segment in
            let segment = segment.clamped(to: asked)
            return Swift.stride(from: segment.lowerBound, to: segment.upperBound, by: stride).map {
                $0..<min($0 + stride, segment.upperBound)
            }
        }
    }

    /// The pages in a range. A short range reads only these pages. A long one reads all pages, because they are shown
    /// anyway.
    private func outline(of query: QueryID, _ range: Range<Int>, in store: any ToolStore) async throws -> ListOutline {
        let found =
            range.count <= 10 * Show.stride
            ? try await store.excerpt(of: query, range) : try await store.outline(of: query)
        return try found ?? { throw gone }()
    }

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

    /// The error for an id that no stored item has. The item may be at a missing position.
    private func missing(_ selector: ItemSelector, _ record: QueryRecord, in store: any ToolStore) async throws
        -> ToolFailure
    {
        guard let list = try await store.outline(of: record.id) else { return gone }
        let id = Printable.text(selector.text)
        let missing = list.coverage.gaps(below: list.reachableLength).reduce(0) { $0 + $1.count }
        if missing == 0, list.isComplete || list.record.isCutOff {
            return ToolFailure(
                .notFound, "no_such_item", "no item of the list has the id '\(id)'", hint: list.record.windowText)
        }
        let reason =
            missing > 0
            ? SizeText.count(missing, "position is missing", "positions are missing")
            : "the end of the list is not known yet"
        return ToolFailure(
            .incomplete, "item_missing", "no stored item has the id '\(id)', and \(reason)",
            hint: "'pagecache sync \(list.record.key.shortID)' fetches the rest of the list")
    }

    private func writer(_ terminal: Terminal) throws(ToolFailure) -> ItemWriter {
        try ItemWriter(format: common.namedFormat, fields: fields.flatMap(FieldPointer.list), terminal: terminal)
    }

    /// Reports missing positions: a hole is never closed up (R12).
    /// - Returns: whether every requested position of the list is current.
    private func tell(_ list: ListOutline, _ held: Coverage, _ range: Range<Int>, _ terminal: Terminal) -> Bool {
        let gaps = held.gaps(in: range.clamped(to: 0..<list.reachableLength))
        if let first = gaps.first {
            let count = gaps.reduce(0) { $0 + $1.count }
            terminal.complain(
                "incomplete: \(SizeText.count(count, "position is", "positions are")) missing or not up to date, from \(SizeText.count(first.lowerBound)) on; 'pagecache pages \(list.record.key.shortID)' shows them"
            )
        }
        if terminal.outputIsTerminal, range.upperBound < list.length {
            terminal.note("… \(SizeText.count(list.length - range.upperBound)) more; --limit and --offset show them")
        }
        return gaps.isEmpty
    }
}
#endif
