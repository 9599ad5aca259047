#if Tool
import ArgumentParser
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

/// `pagecache info`: the identity of a query, its paging, and its state.
struct Info: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Show the URL of a query, how its origin pages, and its settings.",
        discussion: """
            EXAMPLES
              pagecache info 4k2m9xqa
              pagecache info orders --json | jq -r .url
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let (summary, tally) = try await common.withStore(.reading) { store in
            let record = try await QuerySelector.find(query, in: store)
            guard let summary = try await store.summary(of: record.id) else {
                throw ToolFailure(
                    .notFound, "no_such_query", "'\(query)' was purged just now", hint: "'pagecache list' lists queries"
                )
            }
            return (summary, try await store.tally(of: record.id))
        }
        render(InfoReport(summary, tally ?? RunTally(), now: summary.outline.readAt))
    }

    private func render(_ report: InfoReport) {
        let terminal = Terminal.standard
        switch common.outputFormat {
        case .json, .ndjson: terminal.print(JSONOutput.object(report.members).text)
        case .csv:
            let flat = report.members.filter { if case .array = $0.1 { false } else { true } }
            ResultTable(columns: flat.map { .init(name: $0.0) }, rows: [flat.map { .init($0.1) }]).render(
                .csv, to: terminal)
        case .table:
            LabelledLine.render(report.lines, to: terminal)
        }
    }
}

/// The facts about one query. Pure.
struct InfoReport {
    private let list: ListOutline
    private let bytes: Int
    private let tally: RunTally
    private let now: Timestamp

    init(_ summary: QuerySummary, _ tally: RunTally, now: Timestamp) {
        (list, bytes, self.tally, self.now) = (summary.outline, summary.bytes, tally, now)
    }

    private var record: QueryRecord { list.record }
    private var url: String? { ListRunner.url(of: record) }
    /// The number of items of page one. `nil` if page one is not held or has no items. Later pages may have fewer
    /// items, because they overlap.
    private var pageSize: Int? { list.heldPages.first.flatMap { $0.offset == 0 && $0.count > 0 ? $0.count : nil } }

    private var hasCredential: Bool { record.hasCredential }

    private var credentialText: String {
        if record.isDescriptionLost { return "unknown; a repair has removed its check" }
        return hasCredential ? "yes" : "no"
    }

    private var pagingText: String {
        if record.isDescriptionLost { return "unknown; a repair has removed it" }
        if record.paging.isEmpty { return "not known yet" }
        return record.paging + (pageSize.map { ", \(SizeText.count($0)) items per page" } ?? "")
    }

    private var withoutURL: String {
        record.isDescriptionLost
            ? "unknown; a repair has removed it" : "unknown; a program that uses the library fetches this list"
    }

    private var profile: [PagingDecision] { HTTPSource.explanation(inStored: record.source) }

    var members: [(String, JSONOutput)] {
        let freshness = list.judgedFreshness(now: now)
        return [
            ("query", .string(record.key.shortID)), ("key", .string(record.key.text)),
            ("scope", .string(record.key.scope)), ("url", .optional(url)), ("paging", .string(record.paging)),
            ("page_size", .optional(pageSize)), ("credential", record.isDescriptionLost ? .null : .bool(hasCredential)),
            ("pinned", .bool(record.isPinned)), ("unproven", .bool(list.isUnproven)),
            ("items", .int(list.coverage.count)),
            ("total", .optional(record.total.count)), ("total_kind", .string(record.total.kindName)),
            ("pages", .int(list.pages.count)), ("bytes", .int(bytes)),
            ("freshness", .optional(freshness?.rawValue)), ("validated_at", .time(record.validatedAt)),
            ("oldest_check_at", .time(list.oldestCheckAt)), ("last_audit_at", .time(record.lastAuditAt)),
            ("stale_after_ms", .int(Int(FreshnessPolicy().staleAfter(record).wholeMilliseconds))),
            ("freshness_source", .string(record.freshFor == nil ? "default" : "origin")),
            ("created_at", .time(record.createdAt)), ("version", .string(VersionText.text(record.contentVersion))),
            ("runs", .int(tally.runs)), ("requests", .int(tally.requests)),
            (
                "profile",
                .array(
                    profile.map {
                        .object([
                            ("field", .string($0.field)), ("value", .string($0.value)),
                            ("reason", .string($0.reason.text)), ("detail", .optional($0.detail)),
                        ])
                    })
            ),
        ]
    }

    var lines: [LabelledLine] {
        let freshness = list.judgedFreshness(now: now)
        let limit = TimeText.age(FreshnessPolicy().staleAfter(record))
        let total = record.total.count.map { " of \(SizeText.count($0))" } ?? ""
        var lines = [
            LabelledLine(name: "Id", text: record.key.shortID), LabelledLine(name: "Key", text: record.key.text),
            LabelledLine(name: "URL", text: url ?? withoutURL),
        ]
        if !record.key.scope.isEmpty { lines.append(LabelledLine(name: "Scope", text: record.key.scope)) }
        lines += [
            LabelledLine(
                name: "Items",
                text:
                    "\(SizeText.count(list.coverage.count))\(total), in \(SizeText.count(list.pages.count, "page", "pages")), \(SizeText.bytes(bytes))\(list.isUnproven ? "; unproven" : "")"
            ),
            LabelledLine(name: "Freshness", text: list.freshnessText(now: now), colour: Colour.of(freshness)),
            LabelledLine(
                name: "Stale after",
                text: "\(limit) (\(record.freshFor == nil ? "the default" : "the origin's max-age, at most 1 h"))"),
            LabelledLine(name: "Pinned", text: record.isPinned ? "yes" : "no"),
            LabelledLine(name: "Credential", text: credentialText),
            LabelledLine(name: "Created", text: TimeText.rfc3339(record.createdAt)),
            LabelledLine(name: "Version", text: VersionText.text(record.contentVersion)),
            LabelledLine(
                name: "Synced",
                text:
                    "\(SizeText.count(tally.runs, "run", "runs")), \(SizeText.count(tally.requests, "request", "requests"))"
            ),
            LabelledLine(name: "Paging", text: pagingText),
        ]
        lines += profile.map { LabelledLine(name: "", text: $0.description) }
        let failures = list.failures.count
        if failures > 0 {
            lines.append(
                LabelledLine(name: "Failing", text: SizeText.count(failures, "page", "pages"), colour: Colour.failing))
        }
        return lines
    }
}
#endif
