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
            The table has a group for each query. STATE is 'retrying' for a page with a
            scheduled attempt, 'given up' for a page without one, and 'failed' for a page
            that a retry would not help. 'pagecache sync --due' fetches only the first kind.

            EXAMPLES
              pagecache errors
              pagecache errors --json | jq -r '.[].error_message'
              pagecache why 4k2m9xqa --offset 300     the next step for one page
              pagecache retry                         fetch the failing pages now
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let queries = try await common.withStore(.reading) { store in try await store.summaries() }
        let failures = queries.flatMap { query in query.outline.failures.map { (query.outline.record.key, $0) } }.sorted
        {
            ($0.1.nextAttemptAt?.milliseconds ?? .max, $0.0.shortID, $0.1.offset)
                < ($1.1.nextAttemptAt?.milliseconds ?? .max, $1.0.shortID, $1.1.offset)
        }
        if failures.isEmpty { Terminal.standard.note("no page fails") }
        guard !failures.isEmpty || common.outputFormat != .table else { return }
        Errors.table(failures, now: SystemClock().now(), isGrouped: common.outputFormat == .table)
            .render(common.outputFormat, to: .standard)
    }

    /// - Parameter isGrouped: whether the failures of a query are adjacent. The query with the earliest next attempt
    ///   comes first.
    static func table(_ failures: [(QueryKey, LedgerEntry)], now: Timestamp, isGrouped: Bool) -> ResultTable {
        var failures = failures
        var groups: [String] = []
        if isGrouped {
            var ranks: [QueryKey: Int] = [:]
            for failure in failures where ranks[failure.0] == nil { ranks[failure.0] = ranks.count }
            failures = failures.enumerated().sorted {
                (ranks[$0.element.0] ?? 0, $0.offset) < (ranks[$1.element.0] ?? 0, $1.offset)
            }.map(\.element)
            groups = failures.map { key, _ in
                "\(key.shortID)  \(key.text)\(key.scope.isEmpty ? "" : "  (\(key.scope))")"
            }
        }
        return ResultTable(columns: columns, rows: failures.map { row($0.0, $0.1, now: now) }, groups: groups)
    }

    private static let columns: [ResultTable.Column] = [
        .init(name: "query"),
        .init(name: "key"),
        .init(name: "scope"),
        .init(name: "offset", heading: "OFFSET", isNumber: true),
        .init(name: "state", heading: "STATE", isWhole: true),
        .init(name: "attempts", heading: "TRIES", isNumber: true, isMinor: true),
        .init(name: "first_failure_at"),
        .init(name: "last_attempt_at"),
        .init(name: "next_attempt_at", heading: "NEXT", isWhole: true, isMinor: true),
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
            .init(.optional(entry.failure?.message)),
        ]
    }
}
#endif
