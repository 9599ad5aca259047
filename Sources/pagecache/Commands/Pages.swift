#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache pages`: every page of a query, with its ledger entry.
struct Pages: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pages",
        abstract: "Show every page of a query with its fetch record.",
        discussion: """
            EXAMPLES
              pagecache pages 4k2m9xqa
              pagecache pages 4k2m9xqa --map     a coloured map as wide as the terminal
              pagecache pages https://api.example.com/items --json
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @Flag(help: "Draw the list as a map: fresh, stale, inferred, failing and missing positions.")
    var map = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let list = try await common.withStore(.reading) { store in try await QuerySelector.outline(query, in: store) }
        let now = list.readAt
        if map { return draw(CoverageMap(of: list, now: now)) }
        ResultTable(columns: Pages.columns, rows: Pages.rows(list, now: now)).render(common.outputFormat, to: .standard)
    }

    /// Draws cells that fit the terminal, or writes the exact intervals in the formats for programs.
    private func draw(_ map: CoverageMap) {
        let terminal = Terminal.standard
        switch common.outputFormat {
        case .table:
            for line in MapDrawing(map: map, width: terminal.width).lines(colour: terminal.colour) {
                terminal.print(styled: line)
            }
        case .json, .ndjson, .csv:
            let columns: [ResultTable.Column] = [.init(name: "offset"), .init(name: "count"), .init(name: "state")]
            let rows = map.stretches.map { stretch -> [ResultTable.Cell] in
                [
                    .init(.int(stretch.range.lowerBound)), .init(.int(stretch.range.count)),
                    .init(.string(stretch.state.rawValue)),
                ]
            }
            ResultTable(columns: columns, rows: rows).render(common.outputFormat, to: terminal)
        }
    }

    private static let columns: [ResultTable.Column] = [
        .init(name: "offset", heading: "OFFSET", isNumber: true, rank: 0),
        .init(name: "count", heading: "ITEMS", isNumber: true, rank: 5),
        .init(name: "state", heading: "STATE", isWhole: true, rank: 0),
        .init(name: "freshness", heading: "FRESHNESS", isWhole: true, rank: 3),
        .init(name: "evidence", heading: "EVIDENCE", isWhole: true, rank: 6),
        .init(name: "generation"),
        .init(name: "revision"),
        .init(name: "fetched_at"),
        .init(name: "validated_at"),
        .init(name: "attempts", heading: "TRIES", isNumber: true, rank: 5),
        .init(name: "error_class"),
        .init(name: "http_status", heading: "HTTP", isNumber: true),
        .init(name: "error_message", heading: "LAST ERROR", least: 14, isWrapped: true, isLast: true),
        .init(name: "next_attempt_at", heading: "NEXT", isWhole: true, rank: 4),
        .init(name: "lease_owner"),
    ]

    /// Pages and ledger entries, merged by offset. A page that a rearrangement has made can have no entry, and an entry
    /// can belong to a page that is not stored.
    private static func rows(_ list: ListOutline, now: Timestamp) -> [[ResultTable.Cell]] {
        let pages = Dictionary(list.pages.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        let entries = Dictionary(list.ledger.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        return Set(pages.keys).union(entries.keys).sorted().map { offset in
            row(offset, pages[offset], entries[offset], list.record, now)
        }
    }

    private static func row(
        _ offset: Int, _ page: PageSummary?, _ entry: LedgerEntry?, _ record: QueryRecord, _ now: Timestamp
    ) -> [ResultTable.Cell] {
        let freshness = page.map {
            FreshnessPolicy().freshness(ofPageValidatedAt: $0.validatedAt, in: record, now: now)
        }
        let isOld = page.map { $0.generation < record.version.generation } ?? false
        let state = entry?.state ?? .ok
        return [
            .init(.int(offset), SizeText.count(offset)),
            .init(.optional(page?.count)),
            .init(
                .string(state.rawValue), (entry?.stateText ?? "ok") + (isOld ? ", old list" : ""),
                colour: state.isFailure ? Colour.failing : isOld ? Colour.old : nil),
            .init(
                .optional(freshness?.rawValue),
                page.map { "\(freshness?.rawValue ?? "") (\(TimeText.age(now - $0.validatedAt)))" },
                colour: Colour.of(freshness)),
            .init(.optional(page?.evidence.rawValue)),
            .init(.optional(page?.generation)),
            .init(.optional(page?.revision)),
            .init(.time(page?.fetchedAt)),
            .init(.time(page?.validatedAt)),
            .init(.int(entry?.attempts ?? 0)),
            .init(.optional(entry?.failure?.failureClass.rawValue)),
            .init(.optional(entry?.failure?.httpStatus)),
            .init(.optional(entry?.failure?.shownMessage)),
            .init(.time(entry?.nextAttemptAt), entry?.nextText(now: now)),
            .init(.optional(entry?.leaseOwner)),
        ]
    }
}
#endif
