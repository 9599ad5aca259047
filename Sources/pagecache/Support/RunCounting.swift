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
    func count(_ report: SyncReport, after work: SyncOptions.Work) async {
        guard let query = report.list?.record.id else { return }
        do throws(StorageError) {
            try await add(RunTally(report, after: work), to: query)
        } catch {
            Terminal.standard.detail("the run was not counted: \(error.message)")
        }
    }
}
#endif
