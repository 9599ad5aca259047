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
            member of the first page's items that is neither an object nor an array, or for
            each pointer of --fields. --output writes a complete file or none. The exit
            code is 75 when positions are missing, and 65 when damaged items were left out.

            EXAMPLES
              pagecache export 4k2m9xqa > items.ndjson
              pagecache export 4k2m9xqa --format csv --fields /id,/owner/name -o items.csv
              pagecache export 4k2m9xqa | jq -r .name | head
              pagecache export 4k2m9xqa -o items.ndjson && duckdb -c "FROM 'items.ndjson'"
            """)

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
        if common.format == .table {
            throw ValidationError("--format is table; export writes ndjson, json or csv, not a table")
        }
        if output?.isEmpty == true { throw ValidationError("--output must name a file, or be '-'") }
        try FieldPointer.validate(fields)
    }

    func run() async throws {
        common.apply()
        try await common.withStore(.reading) { store in try await export(store) }
    }

    private func export(_ store: any ToolStore) async throws {
        let record = try await find(in: store)
        let sink = try ByteSink(path: output == "-" ? nil : output, terminal: .standard)
        let encoder = ItemEncoder(format: common.outputFormat, fields: fields.flatMap(FieldPointer.list))
        let written = try await Terminal.standard.writingInTransaction {
            var writing = ExportWriting(encoder, to: sink)
            try await store.eachPiece(of: record.id) { try writing.next($0, after: $1) }
            guard let written = try writing.finish() else {
                throw ToolFailure(.incomplete, "list_moved", "the list was removed before it was exported")
            }
            try sink.flush()
            return written
        }
        try sink.finish()
        try finish(written, sink)
    }

    private func find(in store: any ToolStore) async throws -> QueryRecord {
        let record = try await QuerySelector.find(query, in: store)
        guard record.validatedAt != nil else {
            throw ToolFailure(
                .notFound, "never_fetched", "'\(query)' was never fetched",
                hint: "'\(record.syncCommand)' fetches it")
        }
        return record
    }

    // MARK: Messages

    private func finish(_ written: ExportWriting.Written, _ sink: ByteSink) throws {
        let terminal = Terminal.standard
        let list = written.list
        if let output, output != "-" {
            terminal.note(
                "pagecache: \(SizeText.count(written.items, "item", "items")), \(SizeText.bytes(sink.written)), in \(output)"
            )
        }
        if written.itemsCutShort > 0 {
            let items = SizeText.count(written.itemsCutShort, "item has", "items have")
            terminal.warn("\(items) members without a column; --fields names the columns")
        }
        // An export with missing positions says so, because a list with a gap must not look complete (R12).
        let gaps = Coverage(written.held + written.damaged).gaps(below: list.reachableLength)
        if !written.damaged.isEmpty {
            let missing = gaps.reduce(0) { $0 + $1.count }
            throw ToolFailure(
                .unusableData, "damaged",
                DamageText.sentence(written.damaged)
                    + (missing == 0
                        ? "" : "; \(SizeText.count(missing)) other positions are missing or old"),
                hint: "'pagecache verify --repair' drops them, and '\(list.record.syncCommand)' fetches them again")
        }
        if let first = gaps.first {
            let missing =
                "\(SizeText.count(gaps.reduce(0) { $0 + $1.count }, "position is", "positions are")) missing or old"
            terminal.complain(
                "incomplete: \(missing), from \(SizeText.count(first.lowerBound)) on; '\(list.record.syncCommand)' fetches them"
            )
        } else if let window = list.record.windowText {
            return terminal.warn(window)
        } else if !list.isComplete {
            terminal.complain(
                "incomplete: the end of the list is not known yet; \(list.record.nextStep)")
        } else if let reason = list.record.unprovenText {
            terminal.complain("unproven: \(reason)")
        } else {
            // The origin hides items, or counts wrongly.
            if let text = list.record.miscountText { terminal.warn(text) }
            return
        }
        throw ToolProcess.Ended(status: .incomplete)
    }
}
#endif
