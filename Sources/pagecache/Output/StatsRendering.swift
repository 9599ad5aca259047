#if Tool
import PageModel
import PageStore

/// The statistics of a store in every format.
struct StatsRendering {
    let statistics: StoreStatistics
    /// The path of the store, or the name of a store on a server.
    let path: String

    func render(_ format: OutputFormat, to terminal: Terminal) {
        switch format {
        case .table:
            table.render(.table, to: terminal)
            terminal.print("")
            for line in summary { terminal.print(sentence: line) }
        case .json: terminal.print(json.text)
        case .ndjson, .csv: table.render(format, to: terminal)
        }
    }

    // MARK: By query, and in all

    private static func columns(showsScope: Bool) -> [ResultTable.Column] {
        [
            .init(name: "query", heading: "ID", isWhole: true, rank: 3, isTitle: true),
            .init(name: "key", heading: "QUERY", isCutInside: true, rank: 0, isTitle: true),
            .init(name: "scope", heading: showsScope ? "SCOPE" : nil, isWhole: true, rank: 0),
            .init(name: "items", heading: "ITEMS", isNumber: true, rank: 6),
            .init(name: "pages", heading: "PAGES", isNumber: true, rank: 7),
            .init(name: "bytes", heading: "SIZE", isNumber: true, rank: 5),
            .init(name: "pages_ok"),
            .init(name: "pages_pending"),
            .init(name: "pages_in_flight"),
            .init(name: "pages_failing", heading: "FAILING", isNumber: true, rank: 1, isCount: true),
            .init(name: "counted_since"),
            .init(name: "runs", heading: "RUNS", isNumber: true, rank: 4),
            .init(name: "requests", heading: "REQUESTS", isNumber: true, rank: 0),
            .init(name: "requests_saved", heading: "SAVED", isNumber: true, rank: 0),
            .init(name: "pages_fetched"),
            .init(name: "pages_unchanged"),
            .init(name: "pages_kept"),
            .init(name: "hit_rate", heading: "HITS", isNumber: true, rank: 2),
            .init(name: "bytes_received", heading: "RECEIVED", isNumber: true, rank: 8),
        ]
    }

    /// The last row is for the whole store. Its query, key and scope are null.
    private var table: ResultTable {
        let rows = statistics.queries.map { query in
            let outline = query.summary.outline
            return row(
                outline.record.key, items: query.items, pages: outline.pages.count, bytes: query.summary.bytes,
                query.ledger, query.tally, saved: query.requestsSaved)
        }
        let total = row(
            nil, items: statistics.items, pages: statistics.pages, bytes: statistics.bytes, statistics.ledger,
            statistics.tally, saved: statistics.requestsSaved)
        let keys = statistics.queries.map(\.summary.outline.record.key)
        return ResultTable(columns: StatsRendering.columns(showsScope: List.hasTwins(keys)), rows: rows + [total])
    }

    private func row(
        _ key: QueryKey?, items: Int, pages: Int, bytes: Int, _ ledger: [FetchState: Int], _ tally: RunTally, saved: Int
    ) -> [ResultTable.Cell] {
        func count(_ number: Int) -> ResultTable.Cell { .init(.int(number), SizeText.count(number)) }
        let failing = (ledger[.failedRetryable] ?? 0) + (ledger[.failedPermanent] ?? 0)
        return [
            .init(.optional(key?.shortID), key?.shortID ?? ""),
            .init(.optional(key?.text), key?.text ?? "in all"),
            .init(.optional(key?.scope)),
            count(items),
            count(pages),
            .init(.int(bytes), SizeText.bytes(bytes)),
            count(ledger[.ok] ?? 0),
            count(ledger[.pending] ?? 0),
            count(ledger[.inFlight] ?? 0),
            .init(.int(failing), List.failingPages(failing)),
            .init(.time(tally.beganAt)),
            count(tally.runs),
            count(tally.requests),
            count(saved),
            count(tally.pagesFetched),
            count(tally.pagesUnchanged),
            count(tally.pagesKept),
            .init(.optional(tally.hitRate), tally.hitRate.map { "\(Int($0 * 100)) %" }),
            .init(.int(tally.bytesReceived), SizeText.bytes(tally.bytesReceived)),
        ]
    }

    private var json: JSONOutput {
        let table = table
        let names = table.columns.map(\.name)
        let rows = table.rows.map { row in Array(zip(names, row.map(\.value))) }
        let total = (rows.last ?? []).filter { !["query", "key", "scope"].contains($0.0) }
        return .object([
            (
                "store",
                .object([
                    ("path", .string(path)), ("schema", .int(statistics.schema)),
                    ("file_bytes", .int(statistics.fileBytes)),
                    ("log_bytes", .int(statistics.logBytes)), ("free_bytes", .int(statistics.freeBytes)),
                ])
            ),
            ("total", .object([("queries", .int(statistics.queries.count))] + total)),
            ("queries", .array(rows.dropLast().map { .object($0) })),
        ])
    }

    // MARK: For people

    /// The facts that the columns do not show.
    private var summary: [String] {
        let tally = statistics.tally
        let size = """
            store: \(SizeText.bytes(statistics.fileBytes)) in \(path), \(SizeText.bytes(statistics.logBytes)) of log, \
            \(SizeText.bytes(statistics.freeBytes)) free
            """
        guard let since = tally.beganAt else { return [size, "no run was counted yet"] }
        return [
            size,
            """
            since \(TimeText.rfc3339(since)): \(SizeText.count(tally.runs, "run", "runs")) sent \
            \(SizeText.count(tally.requests, "request", "requests")), and saved \(SizeText.count(statistics.requestsSaved))
            """,
        ]
    }
}
#endif
