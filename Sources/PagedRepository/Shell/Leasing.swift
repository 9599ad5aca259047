import Logging
import PageModel

/// The leases of a run (R30, R31). They are taken before a request or with a commit, and renewed while the origin is
/// slow. The run skips pages under leases of other owners.
extension SyncRun {
    /// Applies a plan. If the plan contains ledger edits, they end the lease of the page that has just arrived.
    /// - Parameters:
    ///   - plan: the plan to commit.
    ///   - leasingNext: whether the next planned pages get their leases in the same transaction. Only for callers that
    ///     do not change the planned requests after the commit. Defaults to false.
    func apply(_ plan: CommitPlan, leasingNext: Bool = false) async throws(StorageError) -> CommitOutcome {
        leases.forgetOutline()
        readExtent.committed()
        let next = leasingNext && !Task.isCancelled ? queue.nextSpans(now: clock.now()) : []
        let request = next.isEmpty ? nil : leaseRequest(next)
        // The duration is used for metrics only, and not for decisions. An injected clock is not precise enough.
        let began = ContinuousClock.now
        let receipt = try await storage.commit(plan, claiming: request)
        telemetry.meters.committed(plan, receipt.outcome, took: began.duration(to: .now))
        note(lost: receipt.lostLeases)
        if let request, let grant = receipt.grant {
            leases.take(grant, request, at: clock.now())
            leases.reserve(next, grant.offsets)
        } else {
            queue.requeue(next)
        }
        if case .committed(let version) = receipt.outcome {
            leases.committed(plan.ledger)
            phase.sweep.committed(plan.version, version)
        }
        return receipt.outcome
    }

    /// Applies edits to the list as it was read. See `apply(_:leasingNext:)`.
    @discardableResult
    func apply(
        _ edits: [ListEdit], _ ledger: [LedgerEdit] = [], to list: ListOutline
    ) async throws(StorageError) -> CommitOutcome {
        try await apply(
            CommitPlan(query: list.record.id, version: list.record.version, edits: edits, ledger: ledger))
    }

    /// Returns a request for leases on `targets`, and for the outline that their answers are compared with.
    func leaseRequest(_ targets: [FetchTarget]) -> LeaseRequest {
        LeaseRequest(
            targets.map(\.offset), for: options.lease, by: leases.owner,
            includingOutline: OutlineCache.around(targets, with: queue.inFlight, pageSize: belief.sizes.size))
    }

    /// Renews the leases of this run, because an origin may take longer to answer than a lease lasts (R30).
    func renewLeases() async throws(StorageError) {
        guard !leases.isEmpty, !Task.isCancelled else { return }
        let held = try await storage.heartbeat(leases.owner, for: options.lease)
        note(lost: leases.lost(besides: held))
    }

    /// Changes the ledger. Edits under a lost lease change no record.
    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) {
        note(lost: try await storage.record(edits, for: query))
    }

    /// Logs that leases were lost, and other owners have the pages in flight. Answers that were requested under these
    /// leases are still stored if the list is unchanged (R4). The run keeps the tokens, so that the storage refuses
    /// later edits under them (R30).
    private func note(lost: Set<LeaseToken>) {
        guard !lost.isEmpty else { return }
        telemetry.logger.debug("leases were lost", metadata: ["count": "\(lost.count)"])
    }

    /// The storage's time: this run's clock, plus the difference at the last grant.
    var storageTime: Timestamp { clock.now() + leases.skew }

    /// Returns those of `targets` that this run must fetch: the lease was granted, and no other writer has stored the
    /// page since it was planned. The run skips all others.
    /// - Parameters:
    ///   - targets: the planned targets.
    ///   - granted: the offsets of the granted leases.
    ///   - version: if nil, set to the version of the list in the first outline that is read for a target.
    ///   - query: the query of the list.
    func stillWanted(
        of targets: [FetchTarget], _ granted: Set<Int>, _ version: inout ListVersion?, _ query: QueryID
    ) async throws(StorageError) -> [FetchTarget] {
        var wanted: [FetchTarget] = []
        for target in targets {
            guard granted.contains(target.offset) else {
                skipHeldElsewhere(target)
                continue
            }
            wanted.append(target)
            guard let list = try await nearbyOutline(of: target, query) else { continue }
            // The version of the first read counts. Answers are then dropped if the list has moved between two reads.
            version = version ?? list.record.version
            guard isHeld(target, in: list) else { continue }
            // Another writer stored the page between the plan and the lease.
            try await record([leases.succeeded(target.offset)], for: query)
            leases.drop(target.offset)
            wanted.removeLast()
            skipHeldElsewhere(target)
        }
        return wanted
    }

    private func skipHeldElsewhere(_ target: FetchTarget) {
        queue.skippedHeldElsewhere(target)
        leases.skipHeldElsewhere()
        telemetry.meters.leasedElsewhere()
        logHeldElsewhere(target)
    }

    /// Returns the outline of the positions that the target covers, read under the lease. From then on, no other owner
    /// fetches these positions. Returns nil when the target is fetched even if its positions are held.
    private func nearbyOutline(of target: FetchTarget, _ query: QueryID) async throws(StorageError) -> ListOutline? {
        // A walk through held pages, and the check of a held page, request these pages again on purpose.
        if case .cursor = target, pass.walk.mode != nil || phase.recheck != nil { return nil }
        guard let range = target.outlineRange(pageSize: belief.sizes.size) else { return nil }
        if let told = leases.outline?.list(at: range) { return told }
        return try await storage.excerpt(of: query, range)
    }

    /// Whether all items that the target would fetch are held.
    /// - Parameters:
    ///   - target: the target.
    ///   - list: the outline of the pages near it.
    private func isHeld(_ target: FetchTarget, in list: ListOutline) -> Bool {
        let range =
            switch target {
            case .range(let span, _): span
            default: target.offset..<target.offset + 1
            }
        if pass.check.isDue, let end = list.record.end, range.upperBound > end { return false }
        // The last page is requested again on purpose.
        if pass.fill.askedAgain.contains(range.lowerBound) { return false }
        if pass.check.hasReadLastPage, range.upperBound == pass.check.oldEnd { return false }
        // Positions after the end of the list do not count as missing.
        let end = list.record.end ?? list.record.total.exactCount ?? .max
        return list.coverage.gaps(in: range.clamped(to: 0..<max(end, range.lowerBound))).isEmpty
            && list.heldPages.contains { $0.range.overlaps(range) }
    }
}
