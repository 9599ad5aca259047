import PageModel

/// The leases of a run (R30, R31): taken before a request or with what is stored, renewed while an origin takes its time, and what is
/// somebody else's left to them.
extension SyncRun {
    /// Applies a plan. Ledger edits in it end the lease of the page that has just arrived.
    /// - Parameter leasingNext: whether the pages that are asked for next get their leases in the same transaction. Only for who
    ///   changes nothing of what is asked for when the plan has been applied.
    func apply(_ plan: CommitPlan, leasingNext: Bool = false) async throws(StorageError) -> CommitOutcome {
        vicinity = nil
        let next = leasingNext && !Task.isCancelled ? queue.nextSpans(now: plan.at) : []
        let request = next.isEmpty ? nil : leaseRequest(next, at: plan.at)
        // Measured, not decided by: no clock that is an argument is fine enough.
        let began = ContinuousClock.now
        let receipt = try await storage.commit(plan, claiming: request)
        meters.committed(plan, receipt.outcome, took: began.duration(to: .now))
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

    /// For leases on `targets` from `now` on, and for what will have to be known when they come.
    func leaseRequest(_ targets: [FetchTarget], at now: Timestamp) -> LeaseRequest {
        LeaseRequest(
            targets.map(\.offset), until: now + options.lease,
            telling: Vicinity.around(targets, with: queue.inFlight, pageSize: pageSize))
    }

    /// Remembers what was granted, and what was told with it.
    func take(_ grant: LeaseGrant, _ request: LeaseRequest) {
        leased.formUnion(grant.offsets)
        // What was told before is older than these leases, and nothing to leave a page to others by.
        vicinity = nil
        if let range = request.surroundings, let list = grant.list { vicinity = Vicinity(range: range, list: list) }
    }

    /// R30: an origin may take longer to answer than a lease lasts.
    func renewLeases() async throws(StorageError) {
        let offsets = queue.inFlight.filter(\.isPage).map(\.offset) + (keepsHeadLease ? [0] : [])
        guard let query, !offsets.isEmpty, !Task.isCancelled else { return }
        let now = clock.now()
        try await storage.record(offsets.map { .renewed(offset: $0, until: now + options.lease) }, for: query, at: now)
    }

    /// Those of `targets` that are ours to ask for: the lease was granted, and nobody has brought them since they were planned. The
    /// others are left to others.
    /// - Parameter version: what the list was when they were looked at.
    func whatIsWanted(
        of targets: [FetchTarget], _ leases: Set<Int>, _ version: inout ListVersion?, _ query: QueryID
    ) async throws(StorageError) -> [FetchTarget] {
        var wanted: [FetchTarget] = []
        for target in targets {
            guard leases.contains(target.offset) else {
                leaveToOthers(target)
                continue
            }
            wanted.append(target)
            guard let list = try await surroundings(of: target, query) else { continue }
            // Of several looks the first: what has moved between two of them has moved.
            version = version ?? list.record.version
            guard isHeld(target, in: list) else { continue }
            // Somebody brought it between our plan and our lease.
            try await storage.record([.succeeded(offset: target.offset)], for: query, at: clock.now())
            leased.remove(target.offset)
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

    /// What is held where the target's items belong, asked under the lease: from here on nobody else brings them. Nil where that
    /// is no reason to leave it.
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
