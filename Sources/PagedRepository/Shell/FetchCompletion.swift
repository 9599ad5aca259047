import PageModel

/// Handles answers and failures. Answers that arrive together are stored together where possible.
extension SyncRun {
    /// The result of one request.
    struct FetchCompletion: Sendable {
        var target: FetchTarget
        var requestState: RunLeases.RequestState
        var result: Result<PageAnswer, any Error>
    }

    /// Whether all answers are full pages at the requested positions, and none contradicts the known total. The planned
    /// requests are then still useful. The result decides only when these requests are sent.
    func areAsExpected(_ completions: [FetchCompletion]) -> Bool {
        guard let total = leases.outline?.list.record.total else { return false }
        return completions.allSatisfy { completion in
            guard case .range(let range, let overlap) = completion.target,
                case .success(.page(let page)) = completion.result
            else { return false }
            return page.content.count >= overlap + range.count && !total.contradicts(page.total)
        }
    }

    /// Returns the answer with its exact total as an estimate, if the origin's totals alternate between values (R25).
    private func believed(_ completion: FetchCompletion) -> FetchCompletion {
        guard case .success(.page(var page)) = completion.result, let total = page.total.exactCount else {
            return completion
        }
        guard belief.observe(total: total, askedBehind: completion.requestState.totals) else { return completion }
        warn("the origin's total goes up and down, and counts as an estimate")
        page.total = .estimate(total)
        var completion = completion
        completion.result = .success(.page(page))
        return completion
    }

    /// Stores the exact total of the list as an estimate, once the origin's totals alternate. A position that such a
    /// total does not count may have an item, so an end at the total is removed.
    private func doubtStoredTotal() async throws(StorageError) {
        guard access.supportsRandomAccess, let query, let list = try await storage.excerpt(of: query, 0..<0),
            case .exact(let total) = list.record.total
        else { return }
        let end: [ListEdit] = list.record.end == total ? [.setEnd(nil)] : []
        _ = try await apply([.setTotal(.estimate(total))] + end, to: list)
    }

    /// - Parameter completions: the results, in order of arrival.
    func handle(_ completions: [FetchCompletion]) async throws(StorageError) {
        // Answers that arrived together are handled in order of position, so that each page begins where the previous
        // one ends.
        let wereSteady = !belief.areTotalsUnsteady
        var rest = completions.sorted { $0.target.offset < $1.target.offset }.map { believed($0) }[...]
        if wereSteady, belief.areTotalsUnsteady { try await doubtStoredTotal() }
        while let first = rest.first {
            let together = try await storeTogether(rest)
            if together == 0 { try await handle(first) }
            for completion in rest.prefix(max(together, 1)) {
                if completion.target.isPage, !leases.keeps(completion.target.offset) {
                    leases.drop(completion.target.offset)
                }
            }
            if !leases.keeps(0), !queue.inFlight.contains(where: { $0.isPage && $0.offset == 0 }) { leases.drop(0) }
            rest.removeFirst(max(together, 1))
        }
    }

    /// Stores the first answers in one transaction, as many as possible; see `SpanBatch`. A page that is shorter than
    /// page one is handled alone (R53).
    /// - Returns: the number of handled answers. 0 means that the first answer must be handled alone.
    private func storeTogether(_ completions: ArraySlice<FetchCompletion>) async throws(StorageError) -> Int {
        guard let outline = leases.outline, !pass.mustRestart else { return 0 }
        var batch = SpanBatch(
            outline, SpanBatch.Rules(access: source.access, fullPage: belief.sizes.full(source.access)), at: storageTime
        )
        for completion in completions {
            guard case .range(let range, let overlap) = completion.target,
                case .success(.page(let page)) = completion.result,
                mayStore(page), page.content.count >= belief.sizes.full(source.access) ?? 0,
                batch.add(
                    page, to: range, overlap: overlap, under: completion.requestState.under,
                    lease: leases[range.lowerBound],
                    &belief.recent)
            else { break }
        }
        let together = completions.prefix(batch.parts.count)
        guard !together.isEmpty else { return 0 }
        for case (let completion, .success(let answer)) in together.map({ ($0, $0.result) }) {
            received(answer, completion)
        }
        if try await store(batch, outline.list) { return together.count }
        // The list has changed since it was read. Each answer is handled alone, with a new read.
        for case (let completion, .success(let answer)) in together.map({ ($0, $0.result) }) {
            try await arrived(answer, completion)
        }
        return together.count
    }

    private func handle(_ completion: FetchCompletion) async throws(StorageError) {
        leases.answered(completion.target.offset)
        switch completion.result {
        case .success(let answer):
            if case .page(let page) = answer, let failure = EndOfList.contradiction(in: page, access: source.access) {
                counts.originAnswered = true
                return try await handle(failure, at: completion.target)
            }
            if let failure = try await failure(in: answer, to: completion.target) {
                counts.originAnswered = true
                return try await handle(failure, at: completion.target)
            }
            received(answer, completion)
            try await arrived(answer, completion)
        case .failure(let error):
            try await handle(error, at: completion.target)
        }
    }

    private func received(_ answer: PageAnswer, _ completion: FetchCompletion) {
        counts.originAnswered = true
        queue.completed(completion.target)
        failures.answered(completion.target.offset)
        belief.observeLength(of: answer, to: completion.target, source.access)
        belief.observeStatement(of: answer, to: completion.target)
        logAnswer(answer, completion.target)
    }

    private func arrived(_ answer: PageAnswer, _ completion: FetchCompletion) async throws(StorageError) {
        leases.beginAnswer(to: completion.requestState)
        if case .page(let page) = answer, !mayStore(page) { return try await reportUnstored(page, completion.target) }
        switch completion.target {
        case .firstPage:
            leases.keepsHead = false
            try await headArrived(answer)
        case .range(let range, let overlap): try await spanArrived(answer, range, overlap: overlap)
        case .cursor(let cursor, let offset): try await followerArrived(answer, cursor, at: offset)
        case .probe(let range): return try await probeArrived(answer, range)
        case .sweep(let range): return try await sweepArrived(answer, range)
        }
        if completion.target == .firstPage, !leases.hasEnded, reconciliation != nil { leases.keepsHead = true }
        // An answer that was not committed releases its lease here. Otherwise this run would wait for itself.
        if !leases.hasEnded, !leases.keeps(completion.target.offset) { try await release(completion.target) }
    }

    private func handle(_ error: any Error, at target: FetchTarget) async throws(StorageError) {
        if Task.isCancelled {
            queue.stop()
            queue.failed(target, FetchFailure(.transport, "cancelled", isRetryable: true), nextAttemptAt: nil)
            return try await release(target)
        }
        let failure = FetchFailure(thrownBySource: error, keepsWords: options.recordsErrorText)
        if !failure.isTransport { counts.originAnswered = true }
        if try await isBehindTotal(failure, target) { return }
        if try await isBehindWindow(failure, target) { return }
        // A probe has no ledger entry. While the run holds the lease of page one, a probe without an answer is recorded
        // as a failure of page one.
        let checked = try await leasedPlace(ofCheck: target)
        let place: Int? = target.isPage ? target.offset : leases.keepsHead ? 0 : checked
        let attempt = failures.failed(target.offset, known: try await attemptsSoFar(place))
        let now = clock.now()
        let next = options.retry.nextAttempt(after: failure, attempt: attempt, now: now, jitter: jitter())
        // With a pause of zero, the request could be repeated for ever without using up the wait budget.
        let due = next.map { max($0, now + .milliseconds(1)) }
        queue.failed(target, failure, nextAttemptAt: due, quiet: options.retry.quiet(after: failure, now: now))
        if next == nil { failures.abandoned.insert(target.offset) }
        if target == .firstPage { failures.head = failure }
        if case .sweep(let range) = target, phase.recheck == nil {
            failures.unverified[placeInSweep(of: range)] = failure
        }
        if target.isPage { telemetry.meters.failed(nextAttemptAt: next) }
        logFailure(failure, target, attempt: attempt, nextAttemptAt: next)
        telemetry.progress(.failed(offset: target.offset, failure, nextAttemptAt: next))
        let pause = next.map { $0 - now }
        if let query, let place, target.isPage || checked != nil {
            try await record(
                [.failed(offset: place, failure: failure, nextAttemptIn: pause, lease: leases[place])], for: query)
            if checked != nil { leases.drop(place) }
        }
        // If a retry is planned, the run can still end before it: see `abandonProbeOrSweep`.
        if !target.isPage, next == nil, try await !goesOn(without: target, failure) {
            try await probeOrSweepFailed(failure, at: target.offset, nextAttemptIn: nil)
        }
        if case .cursor = target, !failure.isRetryable, failure.failureClass == .rejected {
            cursorWasRejected(failure, at: target.offset)
        }
    }

    /// Releases the lease of the target, if this run holds one.
    func release(_ target: FetchTarget) async throws(StorageError) {
        guard let query, target.isPage, let lease = leases[target.offset] else { return }
        try await record([.released(offset: target.offset, lease: lease)], for: query)
    }

    /// Returns the number of attempts in the ledger, including the failed one and those of other runs, so that the
    /// pause grows from one run to the next (R28, R31). Returns 0 for a run that waits for its retries. Such a run
    /// counts only its own attempts.
    /// - Parameter place: the position of the ledger entry. `nil` means that the request has no ledger entry.
    private func attemptsSoFar(_ place: Int?) async throws(StorageError) -> Int {
        guard options.retryWaitBudget <= .zero, let query, let place,
            let list = try await storage.excerpt(of: query, place..<place + 1)
        else { return 0 }
        return list.ledger.first { $0.offset == place }?.attempts ?? 0
    }
}
