import PageModel

/// Carries out the decisions of the `Reconciler`: sends its probes, and commits its repair in one step (R4, R17, R18).
extension SyncRun {
    /// A reconciliation in progress.
    struct Reconciliation {
        var machine: Reconciler
        /// The page one that started the reconciliation.
        var page: FetchedPage
        var list: ListOutline
        /// The number of probes without an answer.
        var open = 0
    }

    /// Finds and repairs the changes in the list, after page one has changed.
    func reconcile(_ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        let head = try await observed(page, at: 0, list.record.id, isEnd: end(of: page) != nil, asked: nil)
        var page = page
        page.content = head.content
        // Items cannot be located if ids repeat (R25). If the origin has only one page, no probe can be sent.
        guard !list.record.allowsDuplicates, !head.repeatsItems, source.access != .single else {
            return try await replace(with: page)
        }
        let isChain = access == .chain
        var isGrid = false
        var size = belief.sizes.size
        if case .grid(let grid) = access {
            isGrid = true
            size = grid
        }
        var machine = Reconciler(
            head: head, total: page.total,
            cached: Reconciler.Cached(
                segments: list.coverage.segments, length: list.record.end ?? list.record.total.exactCount,
                pages: (list.coverage.count + size - 1) / max(size, 1)),
            reach: Reconciler.Reach(
                pageSize: size, probeSize: min(source.probeSize ?? size, size), isGrid: isGrid,
                supportsRandomAccess: !isChain,
                window: list.record.resultWindow ?? .max),
            isSuspicious: belief.drift.isSuspicious)
        if isChain, !machine.isExplained {
            return try await walkFromHead(head, page, list)
        }
        let evidence = belief.drift.takeEvidence(total: page.total)
        if !belief.drift.isSuspicious, machine.isExplained, !evidence.isEmpty, evidence.allSatisfy({ !$0.isEnd }) {
            reconciliation = Reconciliation(machine: machine, page: page, list: list)
            try await performNextAction()
            return try await store(evidence, list.record.id)
        }
        for drift in evidence {
            var observed = try await observed(
                drift.page, at: drift.offset, list.record.id, isEnd: drift.isEnd, asked: drift.offset..<drift.offset)
            observed.isWitnessed = drift.isEnd
            machine.learn(drift: observed, total: drift.page.total)
            counts.pagesFetched += 1
        }
        reconciliation = Reconciliation(machine: machine, page: page, list: list)
        try await performNextAction()
    }

    /// Stores answers from the same state of the list as page one, at the positions that were requested (R21).
    private func store(_ evidence: [DriftEvidence], _ query: QueryID) async throws(StorageError) {
        for drift in evidence where !pass.mustRestart && reconciliation == nil {
            guard let list = try await storage.excerpt(of: query, 0..<0), list.record.total == drift.page.total else {
                return
            }
            leases.requestState.under = list.record.version
            let range = drift.offset..<drift.offset + drift.page.content.count
            try await spanArrived(.page(drift.page), range, overlap: 0)
        }
    }

    /// Carries out the next action of the machine.
    private func performNextAction() async throws(StorageError) {
        guard var work = reconciliation else { return }
        let action = work.machine.next()
        reconciliation = nil
        switch action {
        case .fetch(let probes):
            work.open = probes.count
            reconciliation = work
            queue.add(probes.map { .probe($0) })
        case .startOver:
            // The reconciliation starts over at most twice (R18). After that the list is read again, and stays readable
            // meanwhile.
            guard belief.drift.contradicted() else {
                if belief.hidden.isIrregular(belief.sizes, source.access), belief.hidden.misplaced > 0,
                    access.supportsRandomAccess
                {
                    return walkByPosition()
                }
                return try await replace(with: work.page)
            }
            askAgain()
        case .replaced:
            try await replace(with: work.page)
        case .commit(let repair):
            try await commit(repair, work)
        }
    }

    private func commit(_ repair: RepairPlan, _ work: Reconciliation) async throws(StorageError) {
        let page = work.page
        // The decision does not consider pages that other writers stored during the probes. Page one is then fetched
        // again (R4), at most twice.
        if repair.isChange || !repair.markedStale.isEmpty, belief.drift.mayLookAgain,
            let now = try await storage.outline(of: work.list.record.id),
            now.coverage.segments != work.list.coverage.segments
        {
            belief.drift.lookedAgain()
            return askAgain()
        }
        var edits = repair.edits
        if repair.isHeadUntouched, work.list.heldPages.contains(where: { $0.range == 0..<page.content.count }) {
            // Page one is stored again with its newest validator, so that the next refresh is cheap (R1).
            edits.append(.insertPage(write(page)))
        }
        edits += [.setTotal(repair.total), .setEnd(endAfter(repair, work))]
        if try await commitHead(edits, page, work.list) {
            // The next reconciliation may start over twice again (R18).
            belief.drift.repaired()
            if repair.isChange, repair.markedStale.isEmpty,
                let now = try await storage.excerpt(of: work.list.record.id, 0..<Int.max)
            {
                belief.end.repaired(to: now.heldEnd)
            }
            return try await firstPageCommitted(page, repair.finding, work.list, isChanged: repair.isChange)
        }
        // The storage rejected the commit, because another writer has changed the list, or an item would be held twice.
        // Page one is fetched again (R4).
        guard belief.drift.contradicted() else { return try await replace(with: page) }
        askAgain()
    }

    private func endAfter(_ repair: RepairPlan, _ work: Reconciliation) -> Int? {
        if let end = end(of: work.page) { return end }
        // Without a total, the earlier end of the list proves nothing. The following fetches find the end.
        guard work.page.total.exactCount != nil || options.work == .refresh else { return nil }
        return work.list.record.end == nil ? nil : repair.end
    }

    /// Handles the answer to a probe.
    func probeArrived(_ answer: PageAnswer, _ range: Range<Int>) async throws(StorageError) {
        guard var work = reconciliation else { return }
        work.open -= 1
        switch answer {
        case .page(let page):
            // A short answer does not prove the end here, because the held items after it would be removed (R20).
            let isEnd =
                EndOfList.decide(
                    page.knowing(work.machine.total), at: range.lowerBound, full: nil, access: source.access)
                == .end(at: range.lowerBound + page.content.count)
            let observed = try await observed(
                page, at: range.lowerBound, work.list.record.id, isEnd: isEnd || page.content.isEmpty, asked: range)
            work.machine.learn(observed, total: page.total)
        case .pastEnd, .notFound, .notModified:
            work.machine.learn(
                ObservedPage(offset: range.lowerBound, content: PageContent(), places: [:], isEnd: true),
                total: .unknown)
        }
        reconciliation = work
        if work.open == 0 { try await performNextAction() }
    }

    /// Handles a probe or a sweep request without an answer. The refresh fails, and the cached list stays unchanged
    /// (R14). If an answer has shown a change that is not located yet, the ledger records a failure of page one (R26).
    /// - Parameters:
    ///   - failure: the reason why no answer arrived.
    ///   - offset: the position of the request.
    ///   - pause: the time until the next attempt. `nil` means that the request itself is not repeated. Page one is
    ///     then requested again after the longest back-off.
    func probeOrSweepFailed(
        _ failure: FetchFailure, at offset: Int, nextAttemptIn pause: Duration?
    ) async throws(StorageError) {
        var recorded = failure
        // Recorded as retryable, because page one itself can be fetched: a failed probe must not require an explicit
        // call (R33).
        recorded.isRetryable = true
        recorded.message = "check at position \(offset)\(newTotal): \(failure.message)"
        reconciliation = nil
        failures.head = failure
        queue.clear()
        if hasUnsettledChange { try await recordUnsettled(recorded, nextAttemptIn: pause ?? options.retry.cap) }
    }

    /// Whether an answer of this run has shown a change that the run has not located yet: page one has changed, other
    /// items have moved, or a checked page had other items.
    private var hasUnsettledChange: Bool {
        leases.keepsHead || pass.mustRestart || belief.drift.isSuspicious
            || passes.hasRechecked && options.work == .sweep
    }

    private func recordUnsettled(_ failure: FetchFailure, nextAttemptIn pause: Duration) async throws(StorageError) {
        guard let query else { return }
        try await record([.failed(offset: 0, failure: failure, nextAttemptIn: pause, lease: leases[0])], for: query)
        leases.keepsHead = false
        leases.drop(0)
    }

    /// The total of a page one whose changes are not located yet, for the message of a failure. Only this message keeps
    /// the total.
    private var newTotal: String {
        guard let work = reconciliation, let total = work.page.total.count, total != work.list.record.total.count else {
            return ""
        }
        return " (the origin counts \(total) \(total == 1 ? "item" : "items"))"
    }

    /// Handles a failed probe or sweep request whose retry the run does not wait for: the next attempt does not fit
    /// into the wait budget, the origin is unavailable, or the run was stopped. A request for page one that a change
    /// requires is handled in the same way, if the origin has requested a pause that delays it.
    /// - Returns: whether the run continues. The reconciliation then leaves out the failed probes.
    func abandonProbeOrSweep(_ ending: FetchQueue.Ending) async throws(StorageError) -> Bool {
        guard let open = queue.failedProbeOrSweep else {
            guard hasUnsettledChange, let head = queue.postponedPageOne, head.due > clock.now() else { return false }
            failures.head = head.failure
            try await recordUnsettled(head.failure, nextAttemptIn: max(head.due - clock.now(), .zero))
            return false
        }
        let probes = queue.failedProbes
        if case .retryLater = ending, let work = reconciliation, work.open == probes.count,
            probes.allSatisfy({ isDispensable($0.target, $0.failure, work.list) })
        {
            queue.clear()
            for probe in probes { _ = try await goesOn(without: probe.target, probe.failure) }
            return true
        }
        // The ledger has the failure of a page that could not be checked.
        guard phase.recheck == nil || leases.keepsHead else { return false }
        try await probeOrSweepFailed(
            open.failure, at: open.target.offset, nextAttemptIn: max(open.due - clock.now(), .zero))
        return false
    }

    /// Continues the reconciliation without the answer to a probe. Page one is then stored. Held items that remain
    /// unexplained are marked as stale, and are fetched again when they are needed (R18).
    /// - Returns: whether the reconciliation continues. False means that the refresh has to fail.
    func goesOn(without target: FetchTarget, _ failure: FetchFailure) async throws(StorageError) -> Bool {
        guard case .probe(let range) = target, var work = reconciliation, isDispensable(target, failure, work.list)
        else { return false }
        warn("check at position \(range.lowerBound): \(failure.message); the list is aligned without it")
        failures.abandoned.remove(range.lowerBound)
        work.machine.lacksAnswer(to: range)
        work.open -= 1
        reconciliation = work
        if work.open == 0 { try await performNextAction() }
        return true
    }

    /// Whether a failure may concern the position of a probe alone, so that a later refresh would fail for it again.
    /// The failure is permanent, or repeated. The origin answers other requests, and has asked for no pause. No item at
    /// this position is held: a failure at a held position is a failure of its page (R14). The exception is the last
    /// held item, if the status is 422: an insert may have moved that item past a result window (R24).
    private func isDispensable(_ target: FetchTarget, _ failure: FetchFailure, _ list: ListOutline) -> Bool {
        var isBehindHeld = target.offset >= list.heldEnd
        if case .probe(let range) = target, failure.httpStatus == 422, range.contains(list.heldEnd - 1) {
            isBehindHeld = true
        }
        guard isBehindHeld, !failure.isTransport, failure.retryAfter == nil,
            failure.failureClass != .throttled,
            failure.httpStatus != 401
        else { return false }
        return !failure.isRetryable || failures.attempts(at: target.offset) > 1
    }

    /// Returns the answer with the positions of its items in the cached list. Items that equal stored ones as JSON get
    /// the stored bytes.
    func observed(
        _ page: FetchedPage, at offset: Int, _ query: QueryID, isEnd: Bool, asked: Range<Int>?,
        cursor: PageCursor? = nil
    ) async throws(StorageError) -> ObservedPage {
        let places = try await storage.locate(Set(page.content.identities.map(\.key)), in: query)
        if !places.isEmpty { pass.hasKnownItems = true }
        let content = try await keepingBytes(of: page.content, at: places, in: query)
        var observed = ObservedPage(
            offset: offset, content: content, places: places, isEnd: isEnd, cursorIn: cursor, cursorOut: page.next,
            validator: asked == nil ? page.validator : nil)
        observed.saysMore = page.saysMore
        return observed
    }
}

extension RepairPlan {
    /// The result of the repair in a report.
    var finding: SyncReport.Reconciliation {
        if hasProbed { return .repaired }
        return isChange ? .shifted : .unchanged
    }
}
