#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache errors`: the failing pages of all queries.
struct Errors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors",
        abstract: "Show the failing pages of all queries, the earliest next attempt first.",
        discussion: """
            The table has a group for each query. Pages of a query with the same failure
            share a row, in which OFFSET is the range from the first to the last page.

            STATES
              retrying   a retry is scheduled; 'pagecache sync --due' runs it
              abandoned  all attempts are used; 'pagecache retry' tries again. For a pinned
                         query, 'sync --due' or a service tries again after 5 minutes
              failed     a retry would not help; 'pagecache retry --permanent' forces one

            EXAMPLES
              pagecache errors
              pagecache errors --json | jq -r '.[].error_message'
              pagecache why 4k2m9xqa --offset 300     the next step for one page
              pagecache retry                         fetch the failing pages now
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let (queries, damaged) = try await common.withStore(.reading) { store in
            (try await store.summaries(), try await store.storedQueries().damagedCount)
        }
        let failures = queries.flatMap { query in query.outline.failures.map { (query.outline.record.key, $0) } }.sorted
        {
            ($0.1.nextAttemptAt?.milliseconds ?? .max, $0.0.shortID, $0.1.offset)
                < ($1.1.nextAttemptAt?.milliseconds ?? .max, $1.0.shortID, $1.1.offset)
        }
        if failures.isEmpty, damaged == 0 {
            Terminal.standard.note("no page fails; 'pagecache list' shows the age of each query")
        }
        guard !failures.isEmpty || common.outputFormat != .table else { return try DamagedRecords.end(damaged) }
        let now = queries.readAt
        let table =
            common.outputFormat == .table ? Errors.grouped(failures, now: now) : Errors.table(failures, now: now)
        table.render(common.outputFormat, to: .standard)
        try DamagedRecords.end(damaged)
    }

    /// One row for each page.
    static func table(_ failures: [(QueryKey, LedgerEntry)], now: Timestamp) -> ResultTable {
        ResultTable(columns: columns, rows: failures.map { row($0.0, $0.1, now: now) })
    }

    /// One row for all pages of a query with the same failure. Only the table has such rows. The query with the
    /// earliest next attempt comes first.
    static func grouped(_ failures: [(QueryKey, LedgerEntry)], now: Timestamp) -> ResultTable {
        var causes: [(key: QueryKey, entries: [LedgerEntry])] = []
        for (key, entry) in failures {
            if let index = causes.firstIndex(where: { $0.key == key && $0.entries[0].hasSameFailure(as: entry) }) {
                causes[index].entries.append(entry)
            } else {
                causes.append((key, [entry]))
            }
        }
        var ranks: [QueryKey: Int] = [:]
        for cause in causes where ranks[cause.key] == nil { ranks[cause.key] = ranks.count }
        causes = causes.enumerated().sorted {
            (ranks[$0.element.key] ?? 0, $0.offset) < (ranks[$1.element.key] ?? 0, $1.offset)
        }.map(\.element)
        let showsCounts = causes.contains { $0.entries.count > 1 }
        var columns = columns
        columns.insert(.init(name: "pages", heading: showsCounts ? "PAGES" : nil, isNumber: true, rank: 0), at: 0)
        let rows = causes.map { cause -> [ResultTable.Cell] in
            let offsets = cause.entries.map(\.offset)
            let (first, last) = (offsets.min() ?? 0, offsets.max() ?? 0)
            // The first entry has the earliest next attempt.
            var row = row(cause.key, cause.entries[0], now: now)
            row[3].text = SizeText.count(first) + (first == last ? "" : "–\(SizeText.count(last))")
            row[5].text = "\(cause.entries.map(\.attempts).max() ?? 0)"
            return [.init(.int(offsets.count), SizeText.count(offsets.count))] + row
        }
        let groups = causes.map {
            ResultTable.Group(
                id: $0.key.shortID, text: $0.key.text + ($0.key.scope.isEmpty ? "" : "  (\($0.key.scope))"))
        }
        return ResultTable(columns: columns, rows: rows, groups: groups)
    }

    private static let columns: [ResultTable.Column] = [
        .init(name: "query"),
        .init(name: "key"),
        .init(name: "scope"),
        .init(name: "offset", heading: "OFFSET", isNumber: true, rank: 0),
        .init(name: "state", heading: "STATE", isWhole: true, rank: 0),
        .init(name: "attempts", heading: "TRIES", isNumber: true, rank: 3),
        .init(name: "first_failure_at"),
        .init(name: "last_attempt_at"),
        .init(name: "next_attempt_at", heading: "NEXT", isWhole: true, rank: 2),
        .init(name: "retry_after_until"),
        .init(name: "error_class"),
        .init(name: "http_status", heading: "HTTP", isNumber: true),
        .init(name: "error_message", heading: "LAST ERROR", least: 14, isWrapped: true),
    ]

    private static func row(_ key: QueryKey, _ entry: LedgerEntry, now: Timestamp) -> [ResultTable.Cell] {
        [
            .init(.string(key.shortID)),
            .init(.string(key.text)),
            .init(.string(key.scope)),
            .init(.int(entry.offset), SizeText.count(entry.offset)),
            .init(.string(entry.state.rawValue), entry.stateText, colour: Colour.failing),
            .init(.int(entry.attempts)),
            .init(.time(entry.firstFailureAt)),
            .init(.time(entry.lastAttemptAt)),
            .init(.time(entry.nextAttemptAt), entry.nextText(now: now)),
            .init(.time(entry.retryAfterUntil)),
            .init(.optional(entry.failure?.failureClass.rawValue)),
            .init(.optional(entry.failure?.httpStatus)),
            .init(.optional(entry.failure?.shownMessage)),
        ]
    }
}

extension LedgerEntry {
    /// Whether the two failures have the same state, status and message, so that one row can show both.
    fileprivate func hasSameFailure(as other: LedgerEntry) -> Bool {
        stateText == other.stateText && failure?.httpStatus == other.failure?.httpStatus
            && failure?.message == other.failure?.message
    }
}
#endif
