#if Tool
import PageModel
import PagedRepository

extension SyncRendering {
    /// The missing positions, the failed requests and the next step of an incomplete list.
    var missing: String {
        let gaps = report.list?.gaps ?? []
        let failures = report.list?.failures ?? []
        let failing = failures.filter { report.unverified[$0.offset] == nil }
        var parts: [String] = []
        if !gaps.isEmpty {
            let positions = gaps.reduce(0) { $0 + $1.count }
            parts.append(
                "\(SizeText.count(positions, "position", "positions")) in \(SizeText.count(gaps.count, "gap", "gaps")) \(positions == 1 ? "is" : "are") missing"
            )
        }
        if let first = failing.min(by: { $0.offset < $1.offset }), let failure = first.failure {
            let pages = SizeText.count(failing.count, "page", "pages")
            let place = "\(failing.count == 1 ? "" : "the first ")at position \(SizeText.count(first.offset))"
            parts.append("\(pages) failed, \(place): \(failure.shownMessage)")
        }
        if let first = report.unverified.min(by: { $0.key < $1.key }) {
            parts.append(
                "the sweep stopped at position \(SizeText.count(first.key)): \(first.value.shownMessage); 'pagecache sync \(key.shortID) --sweep' continues it"
            )
        } else if failing.isEmpty, let failure = report.headFailure {
            parts.append("a check of the list failed: \(failure.shownMessage)")
        }
        if let hint = credentialHint { parts.append(hint) }
        if let next = report.nextAttemptAt, let now = report.list?.readAt, next <= now {
            parts.append("the next attempt is due, and '\(syncCommand)' starts it")
        } else if let next = report.nextAttemptAt {
            let reason = failures.first { $0.nextAttemptAt == next }?.reasonToRetryEarlier
            parts.append("next attempt \(TimeText.rfc3339(next))\(reason.map { " (\($0))" } ?? "")")
        } else if !failing.isEmpty {
            let option = failing.allSatisfy { $0.state == .failedPermanent } ? " --permanent" : ""
            parts.append("no retry is scheduled, and 'pagecache retry \(key.shortID)\(option)' tries again")
        }
        if parts.isEmpty, report.list?.isComplete == true {
            guard let total = report.list?.record.total.exactCount, total != held else {
                let warning = report.warnings.last.map { SettingNames.options(in: $0) }
                return warning ?? "the list kept changing while it was read"
            }
            let count = SizeText.count(total, "item", "items")
            return "the origin counts \(count); a sync without --refresh finds the difference"
        }
        if parts.isEmpty { parts.append("the end of the list is not reached") }
        if let nextRun { parts.append(nextRun) }
        return parts.joined(separator: "; ")
    }

    private var syncCommand: String { report.list?.record.syncCommand ?? "pagecache sync \(key.shortID)" }

    /// The command that continues a list without failures. `nil` when the ledger has failures, and when a run would not
    /// get further.
    private var nextRun: String? {
        guard report.outcome == .incomplete, report.list?.failures.isEmpty == true, report.headFailure == nil,
            report.unverified.isEmpty, report.pagesNotStored == 0
        else { return nil }
        return report.list?.record.nextStep ?? "'\(syncCommand)' continues"
    }

    /// The next step for pages that the origin refuses. `nil` when the origin refuses no page.
    private var credentialHint: String? {
        let isRefused = report.list?.failures.contains { $0.failure?.failureClass == .forbidden } ?? false
        return isRefused ? ToolFailure.credentialHint : nil
    }
}
#endif
