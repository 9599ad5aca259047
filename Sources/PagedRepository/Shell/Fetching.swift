import PageModel

/// The part of a run that talks to the origin: leases, child tasks, failures.
extension SyncRun {
    private struct Landing: Sendable {
        var target: FetchTarget
        var asked: Asked
        var result: Result<PageAnswer, any Error>
    }

    private enum Event: Sendable {
        /// Something is in the inbox, if it was not taken with what came before.
        case landed
        /// Half of a lease's time is over.
        case renewalDue
    }

    /// Fetches until the queue has nothing more to do now.
    func drive() async throws(StorageError) -> FetchQueue.Ending {
        let result = await withTaskGroup(of: Event.self) { group -> Result<FetchQueue.Ending, StorageError> in
            // With the last answer nothing is left but an alarm.
            defer { group.cancelAll() }
            var isAlarmSet = false
            let landings = Inbox<Landing>()
            do throws(StorageError) {
                while true {
                    if Task.isCancelled { queue.stop() }
                    // What was left to others may have made room, or left nothing to wait for.
                    guard try await startReserved(in: &group, landings) else { continue }
                    let (targets, action) = nextActions()
                    guard try await start(targets, in: &group, landings) else { continue }
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
                        case .landed:
                            try await handle(landings.take())
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
        _ targets: [FetchTarget], in group: inout TaskGroup<Event>, _ landings: Inbox<Landing>
    ) async throws(StorageError) -> Bool {
        let pages = targets.filter(\.isPage)
        var granted: [FetchTarget] = []
        var version: ListVersion?
        let now = clock.now()
        if let query, !pages.isEmpty {
            // Before the request, so that a crash leaves a record of what was in flight (R31). Page one's may be ours already.
            granted = keepsHeadLease ? pages.filter { $0 == .head } : []
            let open = pages.filter { !granted.contains($0) }
            if !open.isEmpty {
                let request = leaseRequest(open, at: now)
                let grant = try await storage.claim(request, of: query, at: now)
                take(grant, request)
                granted += try await whatIsWanted(of: open, Set(grant.offsets), &version, query)
            }
            if version == nil, granted.contains(where: \.hasPlace) {
                version = try await storage.excerpt(of: query, 0..<0)?.record.version
            }
        } else {
            granted = pages
        }
        try await ask(granted + targets.filter { !$0.isPage }, Asked(at: now, under: version), in: &group, landings)
        return granted.count == pages.count
    }

    /// The same for those whose leases came with a commit.
    private func startReserved(
        in group: inout TaskGroup<Event>, _ landings: Inbox<Landing>
    ) async throws(StorageError) -> Bool {
        let (targets, leases) = reserved
        guard let query, !targets.isEmpty else { return true }
        reserved = ([], [])
        let now = clock.now()
        guard !Task.isCancelled, !pass.mustRestart, pass.emptyFrom == nil, queue.mayStart(now: now) else {
            // What came with what was stored has changed what is asked for. Where it has not, they are next again, when there is a next.
            for target in targets { queue.leftToOthers(target) }
            if !pass.mustRestart { queue.putBack(targets.filter { $0.offset < pass.emptyFrom ?? .max }) }
            leased.subtract(leases)
            let edits = leases.sorted().map { LedgerEdit.released(offset: $0) }
            if !edits.isEmpty { try await storage.record(edits, for: query, at: now) }
            return true
        }
        var version: ListVersion?
        let wanted = try await whatIsWanted(of: targets, leases, &version, query)
        try await ask(wanted, Asked(at: now, under: version), in: &group, landings)
        return wanted.count == targets.count
    }

    /// Those of `targets` that are ours to ask for: the lease was granted, and nobody has brought them since they were planned. The
    /// others are left to others.
    /// - Parameter version: what the list was when they were looked at.
    private func whatIsWanted(
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

    private func ask(
        _ targets: [FetchTarget], _ asked: Asked, in group: inout TaskGroup<Event>, _ landings: Inbox<Landing>
    ) async throws(StorageError) {
        for target in targets {
            let request = try await request(for: target)
            let (source, meters) = (source, meters)
            if attempts[target.offset] != nil || failing.contains(target.offset) { meters.retried() }
            group.addTask {
                // Measured, not decided by.
                let began = ContinuousClock.now
                let result: Result<PageAnswer, any Error>
                do { result = .success(try await source.fetch(request)) } catch { result = .failure(error) }
                meters.fetched(result, took: began.duration(to: .now))
                landings.put(Landing(target: target, asked: asked, result: result))
                return .landed
            }
        }
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

    /// - Parameter landings: what has come, in the order in which it came.
    private func handle(_ landings: [Landing]) async throws(StorageError) {
        // Of what came together nobody knows which was first. In order, a page begins where the one before it ends.
        var rest = landings.sorted { $0.target.offset < $1.target.offset }[...]
        while let first = rest.first {
            let together = try await storeTogether(rest)
            if together == 0 { try await handle(first) }
            for landing in rest.prefix(max(together, 1)) {
                let isKept = keepsHeadLease && landing.target.offset == 0
                if landing.target.isPage, !isKept { leased.remove(landing.target.offset) }
            }
            if !keepsHeadLease, !queue.inFlight.contains(where: { $0.isPage && $0.offset == 0 }) { leased.remove(0) }
            rest.removeFirst(max(together, 1))
        }
    }

    /// Handles those at the beginning that can be stored in one transaction, see `SpanBatch`.
    /// - Returns: how many; 0 where the first has to be looked at by itself.
    private func storeTogether(_ landings: ArraySlice<Landing>) async throws(StorageError) -> Int {
        guard let vicinity, !pass.mustRestart else { return 0 }
        var batch = SpanBatch(vicinity, SpanBatch.Rules(access: source.access, fullPage: fullPage), at: clock.now())
        for landing in landings {
            guard case .span(let range, let overlap) = landing.target, case .success(.page(let page)) = landing.result,
                mayStore(page), batch.add(page, to: range, overlap: overlap, under: landing.asked.under, &recent)
            else { break }
        }
        let together = landings.prefix(batch.parts.count)
        guard !together.isEmpty else { return 0 }
        for case (let landing, .success(let answer)) in together.map({ ($0, $0.result) }) { received(answer, landing) }
        if try await store(batch, vicinity.list) { return together.count }
        // The list is not what it was taken for. Each takes a look of its own.
        for case (let landing, .success(let answer)) in together.map({ ($0, $0.result) }) { try await arrived(answer, landing) }
        return together.count
    }

    private func handle(_ landing: Landing) async throws(StorageError) {
        switch landing.result {
        case .success(let answer):
            if case .page(let page) = answer, let failure = EndOfList.contradiction(in: page, access: source.access) {
                wasHeard = true
                return try await handle(failure, at: landing.target)
            }
            received(answer, landing)
            try await arrived(answer, landing)
        case .failure(let error):
            try await handle(error, at: landing.target)
        }
    }

    private func received(_ answer: PageAnswer, _ landing: Landing) {
        wasHeard = true
        queue.landed(landing.target)
        attempts[landing.target.offset] = nil
        failing.remove(landing.target.offset)
        tellAnswered(answer, landing.target)
    }

    private func arrived(_ answer: PageAnswer, _ landing: Landing) async throws(StorageError) {
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
