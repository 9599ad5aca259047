import PageModel

/// The result of page one, once it is committed or confirmed.
extension SyncRun {
    /// Completes the handling of page one after its commit: informs the rest of the run, and reports the result.
    func firstPageCommitted(
        _ page: FetchedPage, _ finding: SyncReport.Reconciliation, _ list: ListOutline, isChanged: Bool = true
    ) async throws(StorageError) {
        if belief.drift.isShrinkConfirmed, isChanged, page.total != .unknown || page.content.isEmpty {
            let now = page.total.count ?? page.content.count
            warn("the origin confirmed that the list has shrunk to \(now) \(now == 1 ? "item" : "items")")
        }
        let isMoved = isChanged && belief.pageOne.isMoved(page)
        witnessArrived(isSame: !isMoved && !page.total.contradicts(belief.pageOne.total))
        if belief.pageOne.recordStored(page) {
            belief.hidden.forgetMisplaced()
            if passes.count > 0 { passes.hasSeenChange = true }
        }
        belief.drift.explained()
        if access == .chain { walkBegins(behind: page, isChanged: isMoved) }
        if isChanged { counts.pagesFetched += 1 }
        reconciled(finding, try await storage.outline(of: list.record.id) ?? list)
        if isChanged { announce(0..<page.content.count, newItems: 0) }
    }

    /// Records the result for page one. The report contains the strongest result of a run.
    func reconciled(_ finding: SyncReport.Reconciliation, _ list: ListOutline) {
        reconciled(finding, held: list.coverage.count, length: list.record.end ?? list.record.total.count)
    }

    func reconciled(_ finding: SyncReport.Reconciliation, held: Int, length: Int?) {
        counts.reconciled(finding, held: held, length: length)
        telemetry.progress(.reconciled(counts.reconciliation))
    }
}

extension SyncReport.Reconciliation {
    /// Whether page one showed that the held list had changed.
    var isChange: Bool {
        switch self {
        case .shifted, .repaired, .spliced, .staleTail, .replaced: true
        case .none, .firstLoad, .unchanged, .swept, .resumed: false
        }
    }
}
