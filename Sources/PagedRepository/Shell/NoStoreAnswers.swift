import PageModel

/// Answers that the origin forbids storing (RFC 9111, 5.2.2.5: `no-store`). They are passed to the caller, and no part
/// of them is written.
extension SyncRun {
    func mayStore(_ page: FetchedPage) -> Bool { page.mayBeStored || options.storesDespiteNoStore }

    /// Reports a page of the list, and ends the run, because the pages after this one could not be stored in the list.
    /// The run waits for answers in flight, and stores those that may be stored. An answer to a probe or a sweep is not
    /// reported.
    func reportUnstored(_ page: FetchedPage, _ target: FetchTarget) async throws(StorageError) {
        counts.pagesNotStored += 1
        for warning in page.detectedPaging?.warnings ?? [] { warn(warning) }
        warn("the origin forbids storing its answers (no-store); they are returned, and not stored")
        queue.stop()
        switch target {
        case .firstPage:
            failures.head = nil
            leases.keepsHead = false
            telemetry.progress(.notStored(offset: 0, page))
            try await noteAsked(target)
        case .range(let range, let overlap):
            telemetry.progress(.notStored(offset: range.lowerBound - overlap, page))
            try await noteAsked(target)
        case .cursor(_, let offset):
            telemetry.progress(.notStored(offset: offset, page))
            try await noteAsked(target)
        case .probe(let range):
            try await cannotReconcile(range.lowerBound)
        case .sweep:
            // The positions of the answer stay unverified. The progress of the sweep is kept.
            phase.sweep.answers.removeAll()
        }
    }

    /// Ends the lease. The ledger records a success if the list was ever loaded. Otherwise only the query remains in
    /// the storage; see `SyncOptions.registersFirst`.
    private func noteAsked(_ target: FetchTarget) async throws(StorageError) {
        guard let query else { return }
        let isKnown = try await storage.excerpt(of: query, 0..<0)?.record.validatedAt != nil
        let edit = isKnown ? leases.succeeded(target.offset) : leases.deleted(target.offset)
        try await record([edit], for: query)
    }

    /// Fails the refresh, because the answer to a probe must not become part of the list (R14).
    private func cannotReconcile(_ offset: Int) async throws(StorageError) {
        guard reconciliation != nil else { return }
        try await probeOrSweepFailed(
            FetchFailure(
                .rejected, "the changes cannot be determined, because the origin forbids storing its answers",
                isRetryable: false), at: offset, nextAttemptIn: nil)
    }
}
