import Logging
import PageModel

/// The leases of a run (R30, R31): taken before a request or with what is stored, renewed while an origin takes its
/// time, and what is somebody else's left to them.
extension SyncRun {
    /// Applies a plan. Ledger edits in it end the lease of the page that has just arrived.
    /// - Parameter leasingNext: whether the pages that are asked for next get their leases in the same transaction.
    ///   Only for who changes nothing of what is asked for when the plan has been applied.
    func apply(_ plan: CommitPlan, leasingNext: Bool = false) async throws(StorageError) -> CommitOutcome {
        vicinity = nil
        isConfirmedAtAGlance = false
        let next = leasingNext && !Task.isCancelled ? queue.nextSpans(now: clock.now()) : []
        let request = next.isEmpty ? nil : leaseRequest(next)
        // Measured, not decided by: no clock that is an argument is fine enough.
        let began = ContinuousClock.now
        let receipt = try await storage.commit(plan, claiming: request)
        meters.committed(plan, receipt.outcome, took: began.duration(to: .now))
        note(lost: receipt.lostLeases)
        if let request, let grant = receipt.grant {
            take(grant, request)
            reserved.targets += next
            reserved.granted.formUnion(grant.offsets)
        } else {
            queue.putBack(next)
        }
        if case .committed(let version) = receipt.outcome {
            if !plan.ledger.isEmpty { hasEndedLease = true }
            if plan.ledger.contains(where: { $0.offset == 0 }) { keepsHeadLease = false }
            if sweeping.version == plan.version { sweeping.version = version }
        }
        return receipt.outcome
    }

    /// For leases on `targets`, and for what will have to be known when they come.
    func leaseRequest(_ targets: [FetchTarget]) -> LeaseRequest {
        LeaseRequest(
            targets.map(\.offset), for: options.lease, by: owner,
            telling: Vicinity.around(targets, with: queue.inFlight, pageSize: pageSize))
    }

    /// Remembers what was granted, and what was told with it.
    func take(_ grant: LeaseGrant, _ request: LeaseRequest) {
        for lease in grant.leases { leases[lease.offset] = lease.token }
        skew = grant.grantedAt - clock.now()
        // What was told before is older than these leases, and nothing to leave a page to others by.
        vicinity = nil
        if let range = request.surroundings, let list = grant.list { vicinity = Vicinity(range: range, list: list) }
    }

    /// R30: an origin may take longer to answer than a lease lasts.
    func renewLeases() async throws(StorageError) {
        guard !leases.isEmpty, !Task.isCancelled else { return }
        let held = try await storage.heartbeat(owner, for: options.lease)
        note(lost: Set(leases.values).subtracting(held))
    }

    /// Changes the ledger. Edits under a lost lease change nothing.
    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) {
        note(lost: try await storage.record(edits, for: query))
    }

    /// Another owner has the pages in flight. What was asked for under the lost leases is stored all the same, where
    /// the list is as it was (R4); the tokens stay with the run, so that its edits go on being refused (R30).
    private func note(lost: Set<LeaseToken>) {
        guard !lost.isEmpty else { return }
        logger.debug("leases were lost", metadata: ["count": "\(lost.count)"])
    }

    /// The storage's time, as far as this run knows: its own clock, and the difference that the last grant showed.
    var storageTime: Timestamp { clock.now() + skew }

    /// Those of `targets` that are ours to ask for: the lease was granted, and nobody has brought them since they were
    /// planned. The others are left to others.
    /// - Parameter version: what the list was when they were looked at.
    func whatIsWanted(
        of targets: [FetchTarget], _ granted: Set<Int>, _ version: inout ListVersion?, _ query: QueryID
    ) async throws(StorageError) -> [FetchTarget] {
        var wanted: [FetchTarget] = []
        for target in targets {
            guard granted.contains(target.offset) else {
                leaveToOthers(target)
                continue
            }
            wanted.append(target)
            guard let list = try await surroundings(of: target, query) else { continue }
            // Of several looks the first: what has moved between two of them has moved.
            version = version ?? list.record.version
            guard isHeld(target, in: list) else { continue }
            // Somebody brought it between our plan and our lease.
            try await record([.succeeded(offset: target.offset, lease: leases[target.offset])], for: query)
            leases[target.offset] = nil
            wanted.removeLast()
            leaveToOthers(target)
        }
        return wanted
    }

    private func leaveToOthers(_ target: FetchTarget) {
        queue.leftToOthers(target)
        isElsewhere = true
        meters.leftToOthers()
        tellLeftToOthers(target)
    }

    /// What is held where the target's items belong, asked under the lease: from here on nobody else brings them. Nil
    /// where that is no reason to leave it.
    private func surroundings(of target: FetchTarget, _ query: QueryID) async throws(StorageError) -> ListOutline? {
        // What is walked through again is held, of course.
        if case .follow = target, tailWalk != nil { return nil }
        guard let range = target.surroundings(pageSize: pageSize) else { return nil }
        if let told = vicinity?.list(at: range) { return told }
        return try await storage.excerpt(of: query, range)
    }

    /// Whether all that the target would bring is held by now. `list`: its surroundings.
    private func isHeld(_ target: FetchTarget, in list: ListOutline) -> Bool {
        let range =
            switch target {
            case .span(let span, _): span
            default: target.offset..<target.offset + 1
            }
        if pass.rechecksEnd, let end = list.record.end, range.upperBound > end { return false }
        // Where the list ends is not known to be missing.
        let end = list.record.end ?? list.record.total.exactCount ?? .max
        return list.coverage.gaps(in: range.clamped(to: 0..<max(end, range.lowerBound))).isEmpty
            && list.heldPages.contains { $0.range.overlaps(range) }
    }
}
