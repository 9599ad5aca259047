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
            Queries with a damaged record are not shown, and set the exit code to 65.

            EXAMPLES
              pagecache list
              pagecache list --json | jq -r '.[] | select(.failing_pages > 0) | .url'
            """,
        aliases: ["ls"])

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let (queries, damaged) = try await common.withStore(.reading) { store in
            (try await store.listed(), try await store.storedQueries().damagedCount)
        }
        let now = queries.readAt
        if queries.isEmpty, common.outputFormat == .table {
            guard damaged == 0 else { return try DamagedRecords.end(damaged) }
            return Terminal.standard.note("the store has no query; 'pagecache sync URL' adds one")
        }
        List.table(queries, now: now).render(common.outputFormat, to: .standard)
        // Damaged lists are not shown.
        try DamagedRecords.end(damaged)
    }

    static func table(_ queries: [QuerySummary], now: Timestamp) -> ResultTable {
        ResultTable(
            columns: columns(showsScope: hasTwins(queries.map(\.outline.record.key))),
            rows: queries.map { row($0, now: now) })
    }

    /// Whether queries of several scopes have the same key, so that the key does not tell them apart.
    static func hasTwins(_ keys: [QueryKey]) -> Bool { Set(keys.map(\.text)).count < keys.count }

    private static func columns(showsScope: Bool) -> [ResultTable.Column] {
        [
            .init(name: "query", heading: "ID", isWhole: true, rank: 2, isTitle: true),
            .init(name: "key", heading: "QUERY", least: 16, isCutInside: true, rank: 0, isTitle: true),
            .init(name: "scope", heading: showsScope ? "SCOPE" : nil, isWhole: true, rank: 0),
            .init(name: "items", heading: "ITEMS", isNumber: true, rank: 5),
            .init(name: "total", heading: "TOTAL", isNumber: true, rank: 6),
            .init(name: "total_kind"),
            .init(name: "coverage", heading: "HELD", isNumber: true, rank: 0),
            .init(name: "segments", heading: "SEGMENTS", isNumber: true, rank: 9),
            .init(name: "gaps", heading: "GAPS", isNumber: true, rank: 4, isCount: true),
            .init(name: "freshness", heading: "FRESHNESS", isWhole: true, rank: 0),
            .init(name: "validated_at"),
            .init(name: "oldest_check_at"),
            .init(name: "last_audit_at"),
            .init(name: "failing_pages", heading: "FAILING", isNumber: true, rank: 0, isCount: true),
            .init(name: "next_attempt_at", heading: "NEXT", isWhole: true, rank: 3),
            .init(name: "bytes", heading: "SIZE", isNumber: true, rank: 7),
            .init(name: "pinned"),
            .init(name: "unproven"),
            .init(name: "paging", heading: "PAGING", rank: 8),
            .init(name: "invalidated_at"),
            .init(name: "fresh_for_ms", isNumber: true),
            .init(name: "url"),
        ]
    }

    /// The number of failing pages with the unit, because the neighbouring columns have other units. Zero has no unit.
    static func failingPages(_ count: Int) -> String { count == 0 ? "0" : SizeText.count(count, "page", "pages") }

    private static func row(_ query: QuerySummary, now: Timestamp) -> [ResultTable.Cell] {
        let list = query.outline
        let record = list.record
        let freshness = list.judgedFreshness(now: now)
        let failures = list.failures
        let next = failures.compactMap(\.nextAttemptAt).min()
        return [
            .init(.string(record.key.shortID)),
            .init(.string(record.key.text)),
            .init(.string(record.key.scope)),
            .init(.int(list.coverage.count), SizeText.count(list.coverage.count)),
            .init(.optional(record.total.count), record.total.count.map(SizeText.count) ?? "?"),
            .init(.string(record.total.kindName)),
            .init(.optional(list.coveredShare), shareText(of: list)),
            .init(.int(list.coverage.segments.count)),
            .init(.int(list.gaps.count)),
            .init(.optional(freshness?.rawValue), list.freshnessText(now: now), colour: Colour.of(freshness)),
            .init(.time(record.validatedAt)),
            .init(.time(list.oldestCheckAt)),
            .init(.time(record.lastAuditAt)),
            .init(.int(failures.count), failingPages(failures.count), colour: failures.isEmpty ? nil : Colour.failing),
            .init(.time(next), next.map { $0 > now ? "in \(TimeText.until($0 - now))" : "due" }),
            .init(.int(query.bytes), SizeText.bytes(query.bytes)),
            .init(.bool(record.isPinned)),
            .init(.bool(list.isUnproven)),
            .init(.string(record.paging)),
            .init(.time(record.invalidatedAt)),
            .init(.optional(record.freshFor.map { Int($0.wholeMilliseconds) })),
            .init(.optional(ListRunner.url(of: record))),
        ]
    }

    /// The share of the list that is held, in percent. Returns "–" for a list without items, and "?" if the share is
    /// unknown.
    static func shareText(of list: ListOutline) -> String {
        list.coveredShare.map { list.length == 0 ? "–" : "\(Int($0 * 100)) %" } ?? "?"
    }
}
#endif
