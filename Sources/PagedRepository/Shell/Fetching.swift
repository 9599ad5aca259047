import PageModel

/// The part of a run that talks to the origin: leases, child tasks, failures.
extension SyncRun {
    private struct Landing: Sendable {
        var target: FetchTarget
        var asked: Asked
        var result: Result<PageAnswer, any Error>
    }

    private enum Event: Sendable {
        case landed(Landing)
        /// Half of a lease's time is over.
        case renewalDue
    }

    /// Fetches until the queue has nothing more to do now.
    func drive() async throws(StorageError) -> FetchQueue.Ending {
        let result = await withTaskGroup(of: Event.self) { group -> Result<FetchQueue.Ending, StorageError> in
            // With the last answer nothing is left but an alarm.
            defer { group.cancelAll() }
            var isAlarmSet = false
            do throws(StorageError) {
                while true {
                    if Task.isCancelled { queue.stop() }
                    let (targets, action) = nextActions()
                    // What was left to others may have made room, or left nothing to wait for.
                    guard try await start(targets, in: &group) else { continue }
                    if !isAlarmSet, !Task.isCancelled, keepsHeadLease || queue.inFlight.contains(where: \.isPage) {
                        isAlarmSet = true
                        setAlarm(in: &group)
                    }
                    switch action {
                    case .fetch:
                        continue
                    case .sleep(let moment):
                        progress(.waiting(until: moment))
                        try? await clock.sleep(until: moment)
                    case .wait:
                        switch await group.next() {
                        case .landed(let landing):
                            try await handle(landing)
                            let isKept = keepsHeadLease && landing.target.offset == 0
                            if landing.target.isPage, !isKept { leased.remove(landing.target.offset) }
                            if !keepsHeadLease, !queue.inFlight.contains(where: { $0.isPage && $0.offset == 0 }) { leased.remove(0) }
                        case .renewalDue:
                            isAlarmSet = false
                            try await renewLeases()
                        case nil:
                            return .failure(StorageError(.internal, "nothing is in flight, yet something is waited for"))
                        }
                    case .finish(let ending):
                        return .success(ending)
                    }
                }
            } catch {
                return .failure(error)
            }
        }
        // Whatever has happened, nobody waits for us: not even we ourselves, in the next run.
        let left = leased.sorted()
        leased = []
        keepsHeadLease = false
        if let query, !left.isEmpty {
            do throws(StorageError) {
                try await storage.record(left.map { .released(offset: $0) }, for: query, at: clock.now())
            } catch {
                // The first error says more.
                if case .success = result { throw error }
            }
        }
        return try result.get()
    }

    private func setAlarm(in group: inout TaskGroup<Event>) {
        let (clock, moment) = (clock, clock.now() + options.lease * 0.5)
        group.addTask {
            try? await clock.alarm(at: moment)
            return .renewalDue
        }
    }

    /// R30: an origin may take longer to answer than a lease lasts.
    private func renewLeases() async throws(StorageError) {
        let offsets = queue.inFlight.filter(\.isPage).map(\.offset) + (keepsHeadLease ? [0] : [])
        guard let query, !offsets.isEmpty, !Task.isCancelled else { return }
        let now = clock.now()
        try await storage.record(offsets.map { .renewed(offset: $0, until: now + options.lease) }, for: query, at: now)
    }

    /// Everything to fetch at once, and what to do then.
    private func nextActions() -> ([FetchTarget], FetchQueue.Action) {
        var targets: [FetchTarget] = []
        while true {
            let action = queue.next(now: clock.now())
            guard case .fetch(let target) = action else { return (targets, action) }
            targets.append(target)
        }
    }

    /// False when some of them were left to others.
    private func start(
        _ targets: [FetchTarget], in group: inout TaskGroup<Event>
    ) async throws(StorageError) -> Bool {
        guard !targets.isEmpty else { return true }
        let wanted = targets.filter(\.isPage)
        let questions = targets.filter { !$0.isPage }
        var targets = wanted
        let now = clock.now()
        var version: ListVersion?
        if let query, !wanted.isEmpty {
            // Before the request, so that a crash leaves a record of what was in flight (R31).
            let ours = keepsHeadLease ? targets.filter { $0 == .head }.map(\.offset) : []
            let open = targets.map(\.offset).filter { !ours.contains($0) }
            var granted = Set(ours)
            if !open.isEmpty { granted.formUnion(try await storage.claim(open, of: query, until: now + options.lease, at: now)) }
            leased.formUnion(granted)
            targets.removeAll { !granted.contains($0.offset) }
            for target in wanted where !granted.contains(target.offset) { leaveToOthers(target) }
            for target in targets {
                guard let list = try await surroundings(of: target, query) else { continue }
                // Of several looks the first: what has moved between two of them has moved.
                version = version ?? list.record.version
                guard isHeld(target, in: list) else { continue }
                // Somebody brought it between our plan and our lease.
                try await storage.record([.succeeded(offset: target.offset)], for: query, at: now)
                leased.remove(target.offset)
                targets.removeAll { $0 == target }
                leaveToOthers(target)
            }
            if version == nil, targets.contains(where: \.hasPlace) {
                version = try await storage.excerpt(of: query, 0..<0)?.record.version
            }
        }
        let asked = Asked(at: now, under: version)
        for target in targets + questions {
            let request = try await request(for: target)
            let (source, meters) = (source, meters)
            if attempts[target.offset] != nil || failing.contains(target.offset) { meters.retried() }
            group.addTask {
                // Measured, not decided by.
                let began = ContinuousClock.now
                let result: Result<PageAnswer, any Error>
                do { result = .success(try await source.fetch(request)) } catch { result = .failure(error) }
                meters.fetched(result, took: began.duration(to: .now))
                return .landed(Landing(target: target, asked: asked, result: result))
            }
        }
        return targets.count == wanted.count
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
        switch target {
        case .head, .probe, .sweep: nil
        // What is walked through again is held, of course.
        case .follow where tailWalk != nil: nil
        case .span(let span, _): try await storage.excerpt(of: query, span)
        case .follow(_, let offset): try await storage.excerpt(of: query, offset..<offset + 1)
        }
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
        return list.coverage.gaps(in: range.clamped(to: 0..<max(end, range.lowerBound))).isEmpty && list.coverage.count > 0
    }

    private func request(for target: FetchTarget) async throws(StorageError) -> PageRequest {
        switch target {
        case .head:
            var validator: Validator?
            if !asksUnconditionally, let query, let list = try await storage.outline(of: query) {
                validator = list.heldPages.first { $0.offset == 0 }?.validator
                // A page whose bytes are damaged is not "not modified".
                if try await storage.window(of: query, 0..<pageWindow(list))?.damaged.isEmpty == false { validator = nil }
            }
            return PageRequest(.first, size: options.pageSize, validator: validator)
        case .span(let range, let overlap):
            // Always a whole page, also where the gap is shorter: what is received twice proves the seam (R21).
            return PageRequest(.offset(range.lowerBound - overlap), size: options.pageSize)
        case .probe(let range):
            return PageRequest(.offset(range.lowerBound), size: range.count < pageSize ? range.count : options.pageSize)
        case .sweep(let range):
            return PageRequest(.offset(range.lowerBound), size: options.pageSize)
        case .follow(let cursor, _):
            return PageRequest(.cursor(cursor), size: options.pageSize)
        }
    }

    /// With the one that has just failed, and with those of other runs: the pause grows from one run to the next (R28, R31). A run
    /// that waits for its retries counts its own: somebody has asked for it.
    private func attemptsSoFar(_ target: FetchTarget) async throws(StorageError) -> Int {
        guard options.patience <= .zero, let query, target.isPage,
            let list = try await storage.excerpt(of: query, target.offset..<target.offset + 1)
        else { return 0 }
        return list.ledger.first { $0.offset == target.offset }?.attempts ?? 0
    }

    private func pageWindow(_ list: ListOutline) -> Int { list.heldPages.first?.count ?? 0 }

    private func handle(_ landing: Landing) async throws(StorageError) {
        switch landing.result {
        case .success(let answer):
            wasHeard = true
            if case .page(let page) = answer, let failure = EndOfList.contradiction(in: page, access: source.access) {
                return try await handle(failure, at: landing.target)
            }
            queue.landed(landing.target)
            attempts[landing.target.offset] = nil
            failing.remove(landing.target.offset)
            tellAnswered(answer, landing.target)
            hasEndedLease = false
            asked = landing.asked
            if case .page(let page) = answer, !mayStore(page) { return try await passOn(page, landing.target) }
            switch landing.target {
            case .head:
                keepsHeadLease = false
                try await headArrived(answer)
            case .span(let range, let overlap): try await spanArrived(answer, range, overlap: overlap)
            case .follow(let cursor, let offset): try await followerArrived(answer, cursor, at: offset)
            case .probe(let range): return try await probeArrived(answer, range)
            case .sweep(let range): return try await sweepArrived(answer, range)
            }
            if landing.target == .head, !hasEndedLease, reconciliationUnderWay != nil { keepsHeadLease = true }
            // An answer that came to nothing leaves no lease behind, or we would wait for ourselves.
            if !hasEndedLease, !keepsHeadLease || landing.target != .head, let query {
                try await storage.record([.released(offset: landing.target.offset)], for: query, at: clock.now())
            }
        case .failure(let error):
            try await handle(error, at: landing.target)
        }
    }

    private func handle(_ error: any Error, at target: FetchTarget) async throws(StorageError) {
        if error is CancellationError || Task.isCancelled {
            queue.stop()
            queue.failed(target, FetchFailure(.transport, "cancelled", isRetryable: true), nextAttemptAt: nil)
            if let query, target.isPage {
                try await storage.record([.released(offset: target.offset)], for: query, at: clock.now())
            }
            return
        }
        let failure = error as? FetchFailure ?? FetchFailure(.transport, "the source failed", isRetryable: true)
        if !failure.isTransport { wasHeard = true }
        // Nobody waits for this run's retries: then a question that fails is a failure of page one, which has its place in the ledger.
        let ledgerTarget: FetchTarget? = target.isPage ? target : keepsHeadLease ? .head : nil
        let attempt = max((attempts[target.offset] ?? 0) + 1, try await attemptsSoFar(ledgerTarget ?? target))
        attempts[target.offset] = attempt
        let now = clock.now()
        let next = options.retry.nextAttempt(after: failure, attempt: attempt, now: now, chance: chance())
        queue.failed(target, failure, nextAttemptAt: next, quiet: options.retry.quiet(after: failure, now: now))
        if next == nil { givenUp.insert(target.offset) }
        if target == .head { headFailure = failure }
        let isLost = !target.isPage && (next == nil || keepsHeadLease && options.patience <= .zero)
        if isLost { questionFailed(failure) }
        if target.isPage { meters.failed(nextAttemptAt: next) }
        tellFailed(failure, target, attempt: attempt, nextAttemptAt: next)
        progress(.failed(offset: target.offset, failure, nextAttemptAt: next))
        if let query, let ledgerTarget, target.isPage || isLost {
            var told = failure
            // R33: page one itself can be had: it is not left to people because of a question about it.
            if isLost { told.isRetryable = true }
            let moment = isLost ? next ?? now + options.retry.cap : next
            try await storage.record([.failed(offset: ledgerTarget.offset, failure: told, nextAttemptAt: moment)], for: query, at: now)
            if isLost { keepsHeadLease = false }
        }
        if case .follow = target, !failure.isRetryable, failure.failureClass == .refused {
            cursorWasRejected(failure, at: target.offset)
        }
    }
}
