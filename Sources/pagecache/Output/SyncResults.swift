#if Tool
import PageModel
import PagedRepository

/// The results of several lists, and the exit code of the worst of them.
struct SyncResults {
    let results: [ListRunner.Result]
    let common: CommonOptions
    /// The number of queries whose records are damaged. These queries were not synced.
    var damaged = 0
    /// The queries whose URL a repair has removed. These queries were not synced.
    var lost: [QueryKey] = []

    init(results: [ListRunner.Result], common: CommonOptions) { (self.results, self.common) = (results, common) }

    /// Writes the results. Throws the error that ends the tool when the status is not 0.
    func render() throws {
        write()
        try end()
    }

    /// Writes the results to standard output.
    func write() {
        let terminal = Terminal.standard
        let renderings = renderings
        switch common.outputFormat {
        case .table:
            for one in renderings where !common.quiet || one.status != .done { one.renderSentence(to: terminal) }
            if let summary { terminal.note(summary) }
        case .json: terminal.print(JSONOutput.array(renderings.map(\.json)).text)
        case .ndjson: for one in renderings { terminal.print(one.json.text) }
        case .csv: SyncRendering.table(renderings).render(.csv, to: terminal)
        }
    }

    /// Writes the messages to standard error, and throws when the status is not 0.
    func end() throws {
        for one in renderings {
            let line = one.failure.map { "\($0.message)\($0.hint.map { " (\($0))" } ?? "")" } ?? one.complaint
            if let line { Terminal.standard.complain("\(one.key.shortID): \(line)") }
        }
        let failures = lost.map(DamagedRecords.lostDescription) + (damaged > 0 ? [DamagedRecords.failure(damaged)] : [])
        for failure in failures {
            Terminal.standard.complain("\(failure.message)\(failure.hint.map { " (\($0))" } ?? "")")
        }
        // An unproven list does not affect the status, because its next sync is likely to end as unproven, too. The
        // summary counts the list, and a message names it.
        let status =
            (renderings.filter { $0.report.outcome != .unproven }.map(\.status) + failures.map(\.status)).max {
                SyncResults.rank($0) < SyncResults.rank($1)
            } ?? .done
        if status != .done { throw ToolProcess.Ended(status: status) }
    }

    /// The counts of all results. `nil` for fewer than two.
    private var summary: String? {
        guard results.count > 1 else { return nil }
        let counts = Dictionary(grouping: renderings.map(\.outcomeName)) { $0 }.mapValues(\.count)
        let outcomes = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
        let savings = renderings.compactMap(\.savings)
        let saved = savings.reduce(0) { $0 + $1.withoutStore - $1.requests }
        let parts = [
            SizeText.count(results.count, "query", "queries") + ": " + outcomes.joined(separator: ", "),
            SizeText.count(renderings.reduce(0) { $0 + $1.report.usage.requests }, "request", "requests")
                + (saved > 0 ? ", \(SizeText.count(saved)) saved" : ""),
        ]
        return parts.joined(separator: " · ")
    }

    var renderings: [SyncRendering] {
        results.map { SyncRendering(report: $0.report, key: $0.key, url: $0.key.text, common: common) }
    }

    /// Failures that only people can fix rank above temporary ones.
    private static func rank(_ status: ExitStatus) -> Int {
        switch status {
        case .done, .changed: 0
        case .incomplete: 1
        case .unreachable: 2
        case .unusableData: 3
        case .permission: 4
        case .usage, .notFound, .internal, .cannotCreate, .inputOutput, .newerSchema: 5
        }
    }
}
#endif
