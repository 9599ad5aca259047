#if Tool
import PageModel
import PageStore
import PagedRepository

extension RunTally {
    /// What one run did. What it kept counts only where it was about the list as a whole, and page one was had: a page
    /// that is held while the origin is away was not spared, it was not to be had.
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
    /// Counts a run. What is only counted must not fail it.
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
