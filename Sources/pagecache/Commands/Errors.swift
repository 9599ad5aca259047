#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache errors`: the failing pages of all queries.
struct Errors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors",
        abstract: "Show the failing pages of all queries, the soonest next attempt first.",
        discussion: """
            Pages that failed for good, and those that were given up for now, come last:
            nothing tries them again by itself.

            EXAMPLES
              pagecache errors
              pagecache errors --json | jq -r '.[].error_message'
              pagecache why 4k2m9xqa --offset 300     what happens next to one of them
              pagecache retry                         now
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let queries = try await common.withStore(.readOnly) { store in try await store.summaries() }
        let failures = queries.flatMap { query in query.outline.failures.map { (query.outline.record.key, $0) } }.sorted
        {
            ($0.1.nextAttemptAt?.milliseconds ?? .max, $0.0.shortID, $0.1.offset)
                < ($1.1.nextAttemptAt?.milliseconds ?? .max, $1.0.shortID, $1.1.offset)
        }
        if failures.isEmpty { Terminal.standard.note("nothing is failing") }
        guard !failures.isEmpty || common.outputFormat != .table else { return }
        let now = SystemClock().now()
        ResultTable(columns: Errors.columns, rows: failures.map { Errors.row($0.0, $0.1, now: now) })
            .render(common.outputFormat, to: .standard)
    }

    private static let columns: [ResultTable.Column] = [
        .init(name: "query", heading: "ID", isWhole: true),
        .init(name: "key", heading: "QUERY"),
        .init(name: "scope"),
        .init(name: "offset", heading: "OFFSET", isNumber: true),
        .init(name: "state", heading: "STATE"),
        .init(name: "attempts", heading: "ATTEMPTS", isNumber: true),
        .init(name: "first_failure_at"),
        .init(name: "last_attempt_at"),
        .init(name: "next_attempt_at", heading: "NEXT ATTEMPT"),
        .init(name: "retry_after_until"),
        .init(name: "error_class"),
        .init(name: "http_status"),
        .init(name: "error_message", heading: "LAST ERROR"),
    ]

    private static func row(_ key: QueryKey, _ entry: LedgerEntry, now: Timestamp) -> [ResultTable.Cell] {
        [
            .init(.string(key.shortID)),
            .init(.string(key.text)),
            .init(.string(key.scope)),
            .init(.int(entry.offset), SizeText.count(entry.offset)),
            .init(.string(entry.state.rawValue)),
            .init(.int(entry.attempts)),
            .init(.time(entry.firstFailureAt)),
            .init(.time(entry.lastAttemptAt)),
            .init(
                .time(entry.nextAttemptAt),
                entry.nextAttemptAt.map { $0 > now ? "in \(TimeText.age($0 - now))" : "due" } ?? "only when asked"),
            .init(.time(entry.retryAfterUntil)),
            .init(.optional(entry.failure?.failureClass.rawValue)),
            .init(.optional(entry.failure?.httpStatus)),
            .init(.optional(entry.failure?.message)),
        ]
    }
}
#endif
