#if Tool
import PageModel
import PagedRepository

/// The results of several lists, and the exit code of the worst of them.
struct SyncResults {
    let results: [ListRunner.Result]
    let common: CommonOptions

    /// Writes the results. Throws the error that ends the tool when the status is not 0.
    func render() throws {
        let terminal = Terminal.standard
        let renderings = renderings
        switch common.outputFormat {
        case .table: for one in renderings { terminal.print(one.sentence) }
        case .json: terminal.print(JSONOutput.array(renderings.map(\.json)).text)
        case .ndjson: for one in renderings { terminal.print(one.json.text) }
        case .csv: SyncRendering.table(renderings).render(.csv, to: terminal)
        }
        try end()
    }

    /// Writes the messages to standard error, and throws when the status is not 0.
    func end() throws {
        for one in renderings {
            let line = one.failure.map { "\($0.message)\($0.hint.map { " (\($0))" } ?? "")" } ?? one.complaint
            if let line { Terminal.standard.complain("\(one.key.shortID): \(line)") }
        }
        let status = renderings.map(\.status).max { SyncResults.rank($0) < SyncResults.rank($1) } ?? .done
        if status != .done { throw ToolProcess.Ended(status: status) }
    }

    var renderings: [SyncRendering] {
        results.map { SyncRendering(report: $0.report, key: $0.key, url: $0.key.text, common: common) }
    }

    /// Failures that only people can fix rank above temporary ones.
    private static func rank(_ status: ExitStatus) -> Int {
        switch status {
        case .done: 0
        case .incomplete: 1
        case .unreachable: 2
        case .unusableData: 3
        case .permission: 4
        case .usage, .notFound, .internal, .cannotCreate, .inputOutput, .newerSchema: 5
        }
    }
}
#endif
