#if Tool
import PageModel
import PageStore
import PagedRepository

extension RunTally {
    /// The tally of one run. Kept pages count only when the work covered the whole list and page one was fetched.
    /// Without page one, the run saved no requests: the origin could not be reached.
    init(_ report: SyncReport, after work: SyncOptions.Work) {
        let isWhole =
            switch work {
            case .everything, .refresh, .sweep: true
            case .next, .positions: false
            }
        let wasSeen = report.headFailure == nil && report.outcome != .offline && report.reconciliation != .none
        self.init(
            runs: 1, requests: report.usage.requests, pagesFetched: report.pagesFetched,
            pagesUnchanged: report.pagesUnchanged,
            pagesKept: isWhole && wasSeen ? report.pagesKept : 0, bytesReceived: report.usage.bytesReceived)
    }
}

extension DeferredStore {
    /// Counts a run. A failure to count must not fail the run.
    /// - Parameter version: the version of the list before the run. `nil` for a new list.
    func count(_ report: SyncReport, since version: ContentVersion?, after work: SyncOptions.Work) async {
        await opened?.count(RunTally(report, after: work), report, since: version)
    }
}

extension ToolStore {
    /// Counts a run. A failure to count must not fail the run.
    /// - Parameter version: the version of the list before the run. `nil` for a new list.
    func count(_ tally: RunTally, _ report: SyncReport, since version: ContentVersion?) async {
        guard let query = report.list?.record.id else { return }
        var tally = tally
        do throws(StorageError) {
            var start = version
            // The first version of a list has no items.
            if start == nil { start = try await self.version(of: query, at: Timestamp(milliseconds: 0)) }
            if let start, try await hasChanges(of: query, since: start) { tally.changedSince = start }
            try await add(tally, to: query)
        } catch {
            Terminal.standard.detail("the run was not counted: \(error.message)")
        }
    }

    /// Whether an item changed since a version. Returns true as well when the journal does not reach back to the
    /// version.
    private func hasChanges(of query: QueryID, since version: ContentVersion) async throws(StorageError) -> Bool {
        var version = version
        while case .entries(let entries, let reached, let hasMore)? = try await changes(
            of: query, since: version, limit: 1_000)
        {
            if entries.contains(where: { !$0.changes.isEmpty }) { return true }
            guard hasMore else { return false }
            version = reached
        }
        return true
    }
}
#endif
