#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache list`: the queries in the store.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show every query in the store.",
        discussion: """
            EXAMPLES
              pagecache list
              pagecache list --json | jq -r '.[] | select(.failing_pages > 0) | .url'
            """,
        aliases: ["ls"])

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let (queries, damaged) = try await common.withStore(.readOnly) { store in
            (try await store.summaries(), try await store.damagedQueries())
        }
        if damaged > 0 {
            // Damaged lists are not shown, so a warning reports that they exist.
            Terminal.standard.warn(
                "\(damaged) \(damaged == 1 ? "query is" : "queries are") damaged and not shown; 'pagecache verify' says more, 'pagecache verify --repair' mends"
            )
        }
        let now = SystemClock().now()
        List.table(queries, now: now).render(common.outputFormat, to: .standard)
    }

    static func table(_ queries: [QuerySummary], now: Timestamp) -> ResultTable {
        ResultTable(columns: columns, rows: queries.map { row($0, now: now) })
    }

    private static let columns: [ResultTable.Column] = [
        .init(name: "query", heading: "ID", isWhole: true),
        .init(name: "key", heading: "QUERY", least: 16, isCutInside: true),
        .init(name: "scope"),
        .init(name: "items", heading: "ITEMS", isNumber: true),
        .init(name: "total", heading: "TOTAL", isNumber: true),
        .init(name: "total_kind"),
        .init(name: "coverage", heading: "HELD", isNumber: true),
        .init(name: "segments", heading: "SEGMENTS", isNumber: true, isMinor: true),
        .init(name: "gaps", heading: "GAPS", isNumber: true),
        .init(name: "freshness", heading: "FRESHNESS", isWhole: true),
        .init(name: "validated_at"),
        .init(name: "failing_pages", heading: "FAILING", isNumber: true),
        .init(name: "next_attempt_at", heading: "NEXT"),
        .init(name: "bytes", heading: "SIZE", isNumber: true, isMinor: true),
        .init(name: "pinned"),
        .init(name: "paging", heading: "PAGING", isMinor: true),
        .init(name: "invalidated_at"),
        .init(name: "fresh_for_ms", isNumber: true),
        .init(name: "url"),
    ]

    private static func row(_ query: QuerySummary, now: Timestamp) -> [ResultTable.Cell] {
        let list = query.outline
        let record = list.record
        let freshness = list.freshness(FreshnessPolicy(), now: now)
        let failures = list.failures
        let next = failures.compactMap(\.nextAttemptAt).min()
        return [
            .init(.string(record.key.shortID)),
            .init(.string(record.key.text)),
            .init(.string(record.key.scope)),
            .init(.int(list.coverage.count), SizeText.count(list.coverage.count)),
            .init(.optional(record.total.count), record.total.count.map(SizeText.count) ?? "?"),
            .init(.string(record.total.kindName)),
            .init(.optional(list.coveredShare), list.coveredShare.map { "\(Int($0 * 100)) %" } ?? "?"),
            .init(.int(list.coverage.runs.count)),
            .init(.int(list.gaps.count)),
            .init(.optional(freshness?.rawValue), list.freshnessText(now: now), colour: Colour.of(freshness)),
            .init(.time(record.validatedAt)),
            .init(.int(failures.count), colour: failures.isEmpty ? nil : Colour.failing),
            .init(.time(next), next.map { $0 > now ? "in \(TimeText.age($0 - now))" : "due" }),
            .init(.int(query.bytes), SizeText.bytes(query.bytes)),
            .init(.bool(record.isPinned)),
            .init(.string(record.paging)),
            .init(.time(record.invalidatedAt)),
            .init(.optional(record.freshFor.map { Int($0.wholeMilliseconds) })),
            .init(.optional(ListRunner.url(of: record))),
        ]
    }
}
#endif
