#if Tool
import ArgumentParser
import HTTPPageSource
import PageModel
import PagedRepository

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `pagecache probe`: shows how an origin pages and what a sync would cost. Stores nothing.
struct Probe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Show how an API pages, and what a sync would cost; store nothing.",
        discussion: """
            Sends at most eight requests, and up to three more after faults or a change of
            the list. The exit code is 0 when the answers prove how the list continues, and
            75 otherwise. A warning then names the option to add.

            EXAMPLES
              pagecache probe 'https://api.example.com/items'
              pagecache probe "$URL" --bearer-env API_TOKEN --json
            """)

    @Argument(help: "A URL.")
    var url: String
    @OptionGroup var source: SourceOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        if let reason = HTTPSource.refusal(of: url) {
            throw ToolFailure(.usage, "usage", "'\(url)' is \(reason)")
        }
        try DescriptorLimit.check(concurrency: 1)
        let configuration = try source.configuration(url: url)
        try source.checkBody(of: configuration.method)
        let transport = AsyncHTTPTransport(limits: configuration.limits, network: try source.network())
        let result: Result<SourceSurvey, any Error>
        do {
            let origin = try HTTPSource(configuration, transport: transport)
            result = .success(try await origin.survey(size: source.pageSize))
        } catch let failure as FetchFailure {
            result = .failure(ToolFailure(fetching: Printable.text(shownURL), failure, cached: nil))
        } catch {
            result = .failure(error)
        }
        await transport.close()
        let survey = try result.get()
        for warning in survey.warnings { Terminal.standard.warn(SettingNames.options(in: warning)) }
        render(survey)
        if !survey.isProven { throw ToolProcess.Ended(status: .incomplete) }
    }

    /// The URL without secrets and without paging parameters.
    private var shownURL: String { HTTPSource.key(for: url)?.text ?? "" }

    private func render(_ survey: SourceSurvey) {
        let fields: [(String, JSONOutput)] = [
            ("url", .string(shownURL)), ("paging", .string(survey.paging)), ("summary", .string(survey.summary)),
            ("proven", .bool(survey.isProven)), ("page_items", .int(survey.pageItems)),
            ("has_ids", .bool(survey.hasIDs)), ("total", .optional(survey.total.count)),
            ("total_kind", .string(survey.total.kindName)), ("entity_tag", .bool(survey.hasEntityTag)),
            ("last_modified", .bool(survey.hasLastModified)),
            ("fresh_for_ms", .optional(survey.freshFor.map { Int($0.wholeMilliseconds) })),
            ("rate_limits", .array(survey.rateLimits.map { .string($0) })), ("requests", .int(survey.requests)),
            ("estimated_requests", .optional(survey.estimatedRequests)),
            ("estimated_ms", .optional(survey.estimatedTime.map { Int($0.wholeMilliseconds) })),
            ("warnings", .array(survey.warnings.map { .string(SettingNames.options(in: $0)) })),
            ("explanation", .array(survey.explanation.map { .string($0.description) })),
        ]
        switch common.outputFormat {
        case .json, .ndjson:
            Terminal.standard.print(JSONOutput.object(fields).text)
        case .csv:
            ResultTable(
                columns: fields.map { ResultTable.Column(name: $0.0) },
                rows: [fields.map { if case .array(let all) = $0.1 { .init(.int(all.count)) } else { .init($0.1) } }]
            ).render(.csv, to: .standard)
        case .table:
            LabelledLine.render(lines(survey), to: .standard)
        }
    }

    private func lines(_ survey: SourceSurvey) -> [LabelledLine] {
        let total =
            survey.total.count.map { "\(SizeText.count($0))\(survey.total.exactCount == nil ? ", an estimate" : "")" }
            ?? "not stated"
        let validators = [survey.hasEntityTag ? "entity tag" : nil, survey.hasLastModified ? "last modified" : nil]
        let found = validators.compactMap { $0 }
        var lines = [
            LabelledLine(name: "paging", text: survey.summary),
            LabelledLine(
                name: "proven", text: survey.isProven ? "yes" : "no",
                colour: survey.isProven ? Colour.fresh : Colour.stale),
            LabelledLine(
                name: "page one",
                text: SizeText.count(survey.pageItems, "item", "items") + (survey.hasIDs ? ", each with an id" : "")),
            LabelledLine(name: "total", text: total),
            LabelledLine(name: "validators", text: found.isEmpty ? "none" : found.joined(separator: ", ")),
            LabelledLine(
                name: "rate limits",
                text: survey.rateLimits.isEmpty ? "none stated" : survey.rateLimits.joined(separator: "; ")),
            LabelledLine(name: "sent", text: SizeText.count(survey.requests, "request", "requests")),
        ]
        if let requests = survey.estimatedRequests, let time = survey.estimatedTime {
            lines.append(
                LabelledLine(
                    name: "a sync",
                    text: "about \(SizeText.count(requests, "request", "requests")) and \(TimeText.seconds(time))"))
        }
        return lines
    }
}
#endif
