#if Tool
import ArgumentParser
import PageModel
import PageStore

/// `pagecache export`: the whole list, into a pipe or a file.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all items of a query as NDJSON, JSON or CSV, without the network.",
        discussion: """
            NDJSON, the default, and JSON contain each item exactly as the origin sent it.
            In NDJSON, line breaks inside an item become spaces. CSV has a column for each
            plain member of the first page's items, or the columns of --fields. --output
            writes a complete file or none. The exit code is 75 when positions are
            missing, and 65 when damaged items were left out.

            EXAMPLES
              pagecache export 4k2m9xqa > items.ndjson
              pagecache export 4k2m9xqa --format csv --fields /id,/owner/name -o items.csv
              pagecache export 4k2m9xqa | jq -r .name | head
              pagecache export 4k2m9xqa -o items.ndjson && duckdb -c "FROM 'items.ndjson'"
            """)

    /// The largest number of times that an export starts again because the list changed during it.
    private static let restarts = 3
    /// The most bytes of items that are read in one transaction and kept in memory, for a pipe: 32 MiB.
    static let mostInMemory = 32 << 20

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @Option(
        name: [.short, .long],
        help: ArgumentHelp("The file to write. '-' is standard output, the default.", valueName: "file"),
        completion: .file())
    var output: String?
    @Option(
        help: ArgumentHelp(
            "Only these fields of each item, in this order: JSON Pointers, or NAME=POINTER, separated by commas.",
            valueName: "pointers")
    )
    var fields: String?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if common.format == .table { throw ValidationError("export writes ndjson, json or csv, and no table") }
        if output?.isEmpty == true { throw ValidationError("--output must name a file, or be '-'") }
        try FieldPointer.validate(fields)
    }

    func run() async throws {
        common.apply()
        try await common.withStore(.reading) { store in try await export(store) }
    }

    private func export(_ store: any ToolStore) async throws {
        let record = try await find(in: store)
        let isPipe = output == nil || output == "-"
        let sink = try ByteSink(path: isPipe ? nil : output, terminal: .standard)
        // A pipe cannot take bytes back, and its reader may be slower than the next sync.
        if isPipe, try await store.summary(of: record.id)?.bytes ?? .max <= Export.mostInMemory {
            let reading = try await store.list(of: record.id) { [0..<($0.pages.last?.range.upperBound ?? 0)] }
            guard let reading else { throw moved("was removed") }
            return try finish(write(reading, to: sink), reading.outline, sink)
        }
        for attempt in 0... {
            guard let list = try await store.outline(of: record.id) else { throw moved("was removed") }
            let result = try await write(list, from: store, to: sink)
            // Every piece must be read under the version that the list had at the start (R4). Otherwise the export
            // starts again.
            if let result { return try finish(result, list, sink) }
            guard attempt < Export.restarts, sink.rewind() else { throw moved("was changed") }
            Terminal.standard.note("pagecache: the list changed during the export; the export starts again")
        }
    }

    private func find(in store: any ToolStore) async throws -> QueryRecord {
        let record = try await QuerySelector.find(query, in: store)
        guard record.validatedAt != nil else {
            throw ToolFailure(
                .notFound, "never_fetched", "'\(query)' was never fetched",
                hint: "'pagecache sync \(record.key.shortID)' fetches it")
        }
        return record
    }

    private func moved(_ what: String) -> ToolFailure {
        ToolFailure(
            .incomplete, "list_moved", "the list \(what) while it was exported",
            hint: output == nil ? "try again, or use --output: the export then restarts automatically" : "try again")
    }

    // MARK: Reading and writing

    /// The result of writing.
    private struct Written {
        var items: Int
        var itemsCutShort: Int
        /// Positions that are up to date.
        var held: [Range<Int>] = []
        var damaged: [Range<Int>] = []
    }

    /// Writes the list in pieces. Returns nil when the list changed meanwhile. Each piece is a transaction of its own.
    /// A transaction as long as a slow reader would keep the store's log from being truncated.
    private func write(_ list: ListOutline, from store: any ToolStore, to sink: ByteSink) async throws -> Written? {
        var encoder = ItemEncoder(format: common.outputFormat, fields: fields.flatMap(FieldPointer.list))
        var written = Written(items: 0, itemsCutShort: 0)
        var plan = ExportPlan(list.pages)
        let id = list.record.id
        try encoder.begin(sink)
        var piece = plan.nextPiece(after: nil)
        var window = try await Export.read(piece, of: id, from: store)
        while piece != nil {
            try Task.checkCancellation()
            guard let current = window, current.version == list.record.version else { return nil }
            let following = plan.nextPiece(after: current.parts.reduce(0) { $0 + $1.content.bytes.count })
            // The next piece is read while this one is written.
            async let ahead = Export.read(following, of: id, from: store)
            for part in current.parts {
                try encoder.write(part.content, to: sink)
                if part.isHeld { written.held.append(part.range) }
            }
            written.damaged += current.damaged
            window = try await ahead
            piece = following
        }
        written.damaged += list.damaged
        guard try await store.excerpt(of: id, 0..<0)?.record.version == list.record.version else { return nil }
        try encoder.end(sink)
        (written.items, written.itemsCutShort) = (encoder.count, encoder.itemsCutShort)
        return written
    }

    /// Writes a list that was read in one transaction.
    private func write(_ reading: ListReading, to sink: ByteSink) throws -> Written {
        var encoder = ItemEncoder(format: common.outputFormat, fields: fields.flatMap(FieldPointer.list))
        var written = Written(items: 0, itemsCutShort: 0)
        try encoder.begin(sink)
        for window in reading.windows {
            for part in window.parts {
                try Task.checkCancellation()
                try encoder.write(part.content, to: sink)
                if part.isHeld { written.held.append(part.range) }
            }
            written.damaged += window.damaged
        }
        written.damaged += reading.outline.damaged
        try encoder.end(sink)
        (written.items, written.itemsCutShort) = (encoder.count, encoder.itemsCutShort)
        return written
    }

    private static func read(_ range: Range<Int>?, of query: QueryID, from store: any ToolStore) async throws
        -> ListWindow?
    {
        guard let range else { return nil }
        return try await store.window(of: query, range)
    }

    // MARK: Messages

    private func finish(_ written: Written, _ list: ListOutline, _ sink: ByteSink) throws {
        try sink.finish()
        let terminal = Terminal.standard
        let id = list.record.key.shortID
        if let output, output != "-" {
            terminal.note(
                "pagecache: \(SizeText.count(written.items, "item", "items")), \(SizeText.bytes(sink.written)), in \(output)"
            )
        }
        if written.itemsCutShort > 0 {
            let items = SizeText.count(written.itemsCutShort, "item has", "items have")
            terminal.warn("\(items) members without a column; --fields names the columns")
        }
        // Missing positions are reported, and a hole is never closed up (R12).
        let gaps = Coverage(written.held + written.damaged).gaps(below: list.reachableLength)
        if !written.damaged.isEmpty {
            let missing = gaps.reduce(0) { $0 + $1.count }
            throw ToolFailure(
                .unusableData, "damaged",
                DamageText.sentence(written.damaged)
                    + (missing == 0
                        ? "" : "; \(SizeText.count(missing)) other positions are missing or not up to date"),
                hint: "'pagecache verify --repair' drops them, and 'pagecache sync \(id)' fetches them again")
        }
        if let first = gaps.first {
            let missing =
                "\(SizeText.count(gaps.reduce(0) { $0 + $1.count }, "position is", "positions are")) missing or not up to date"
            terminal.complain(
                "incomplete: \(missing), from \(SizeText.count(first.lowerBound)) on; 'pagecache sync \(id)' fetches them"
            )
        } else if let window = list.record.windowText {
            return terminal.warn(window)
        } else if !list.isComplete {
            terminal.complain("incomplete: the end of the list is not known yet; 'pagecache sync \(id)' continues")
        } else {
            return
        }
        throw ToolProcess.Ended(status: .incomplete)
    }
}
#endif
