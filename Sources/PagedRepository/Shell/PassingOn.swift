import PageModel

/// Answers that the origin forbids to keep (RFC 9111, 5.2.2.5: `no-store`): handed on, and nothing of them is written.
extension SyncRun {
    func mayStore(_ page: FetchedPage) -> Bool { page.mayBeStored || options.storesDespiteNoStore }

    /// The run ends with it: what would be fetched behind could not be laid in, or would only be thrown away. What is
    /// in flight is waited for, and stored where it may be.
    func passOn(_ page: FetchedPage, _ target: FetchTarget) async throws(StorageError) {
        pagesNotStored += 1
        for warning in page.lesson?.warnings ?? [] { warn(warning) }
        warn("the origin forbids storing its answers (no-store): they are handed on, and not kept")
        queue.stop()
        switch target {
        case .head:
            headFailure = nil
            keepsHeadLease = false
            progress(.notStored(offset: 0, page))
            try await noteAsked(target)
        case .span(let range, let overlap):
            progress(.notStored(offset: range.lowerBound - overlap, page))
            try await noteAsked(target)
        case .follow(_, let offset):
            progress(.notStored(offset: offset, page))
            try await noteAsked(target)
        case .probe:
            try await cannotReconcile()
        case .sweep:
            // What it was to verify stays unverified; its progress is kept.
            sweeping.answers.removeAll()
        }
    }

    /// The lease ends. That the page was asked for is on record where the list was ever had; of any other list nothing
    /// is left but its name, see `SyncOptions.registersFirst`.
    private func noteAsked(_ target: FetchTarget) async throws(StorageError) {
        guard let query else { return }
        let isKnown = try await storage.excerpt(of: query, 0..<0)?.record.validatedAt != nil
        let edit: LedgerEdit =
            isKnown
            ? .succeeded(offset: target.offset, lease: leases[target.offset])
            : .forgotten(offset: target.offset, lease: leases[target.offset])
        try await record([edit], for: query)
    }

    /// A question about page one was answered, and the answer must not become part of the list: the refresh has failed
    /// (R14).
    private func cannotReconcile() async throws(StorageError) {
        guard reconciliationUnderWay != nil else { return }
        questionFailed(
            FetchFailure(
                .refused, "what has changed cannot be found out: the origin forbids storing its answers",
                isRetryable: false))
        guard keepsHeadLease, let query else { return }
        keepsHeadLease = false
        if let lease = leases[0] { try await record([.released(offset: 0, lease: lease)], for: query) }
    }
}
