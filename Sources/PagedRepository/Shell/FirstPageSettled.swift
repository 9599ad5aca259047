import PageModel

/// The result of page one, once it is committed or confirmed.
extension SyncRun {
    /// Completes the handling of page one after its commit.
    func settled(
        _ page: FetchedPage, _ finding: SyncReport.Reconciliation, _ list: ListOutline, isNews: Bool = true
    ) async throws(StorageError) {
        if isShrinkConfirmed, isNews, page.total != .unknown || page.content.isEmpty {
            let now = page.total.count ?? page.content.count
            warn("the origin says twice that the list has shrunk to \(now) \(now == 1 ? "item" : "items")")
        }
        let isMoved = isNews && isMoved(page)
        witness(isSame: !isMoved && !page.total.contradicts(pageOne.total))
        if page.content.identities != lastHead || page.total.contradicts(pageOne.total) { misplaced = 0 }
        lastHead = page.content.identities
        // Page one has explained the drift, or there was none.
        evidence = []
        pageOne = (page.content.count, page.next, page.total)
        if access == .chain { walkBegins(behind: page, isNews: isMoved) }
        isSuspicious = false
        if isNews { counts.pagesFetched += 1 }
        reconciled(finding, try await storage.outline(of: list.record.id) ?? list)
        if isNews { announce(0..<page.content.count, news: 0) }
    }

    /// Whether page one has other items than its last answer in this run, or the same ones in another order. An item that
    /// was edited in its place moves no other item. Some members change with every answer, such as an age.
    func isMoved(_ page: FetchedPage) -> Bool {
        page.content.identities.map(\.key) != lastHead.map(\.key)
    }

    /// Records the result for page one. The report contains the strongest result of a run.
    func reconciled(_ finding: SyncReport.Reconciliation, _ list: ListOutline) {
        reconciled(finding, held: list.coverage.count, length: list.record.end ?? list.record.total.count)
    }

    func reconciled(_ finding: SyncReport.Reconciliation, held: Int, length: Int?) {
        counts.reconciled(finding, held: held, length: length)
        progress(.reconciled(counts.reconciliation))
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
