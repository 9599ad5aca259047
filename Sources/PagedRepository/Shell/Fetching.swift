import PageModel

/// The part of a run that talks to the origin: what is asked for when, in child tasks.
extension SyncRun {
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
                            let come = landings.take()
                            // The origin has something to do while we store: where nothing speaks against it, the next
                            // ones go out first.
                            if areAsExpected(come) {
                                _ = try await startReserved(in: &group, landings, besides: come.count)
                            }
                            try await handle(come)
                        case .renewalDue:
                            isAlarmSet = false
                            try await renewLeases()
                        case nil:
                            return .failure(
                                StorageError(.internal, "nothing is in flight, yet something is waited for"))
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
        let left = leases.sorted { $0.key < $1.key }.map { LedgerEdit.released(offset: $0.key, lease: $0.value) }
        leases = [:]
        keepsHeadLease = false
        if let query, !left.isEmpty {
            do throws(StorageError) {
                try await record(left, for: query)
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
        var askedAt = storageTime
        if let query, !pages.isEmpty {
            // Before the request, so that a crash leaves a record of what was in flight (R31). Page one's may be ours
            // already.
            granted = keepsHeadLease ? pages.filter { $0 == .head } : []
            let open = pages.filter { !granted.contains($0) }
            if !open.isEmpty {
                var request = leaseRequest(open)
                let looksAtHead = open == [.head] && glance != nil
                if looksAtHead { request.surroundings = 0..<1 }
                let grant = try await storage.claim(request, of: query)
                take(grant, request)
                if looksAtHead { lookAtHead(grant.list) }
                askedAt = grant.grantedAt
                granted += try await whatIsWanted(of: open, Set(grant.offsets), &version, query)
            }
            if version == nil, granted.contains(where: \.hasPlace) {
                version = try await storage.excerpt(of: query, 0..<0)?.record.version
            }
        } else {
            granted = pages
        }
        try await ask(granted + targets.filter { !$0.isPage }, Asked(at: askedAt, under: version), in: &group, landings)
        return granted.count == pages.count
    }

    /// The same for those whose leases came with a commit: as many as may be in flight at a time.
    /// - Parameter come: how many have come that the queue still counts as in flight.
    private func startReserved(
        in group: inout TaskGroup<Event>, _ landings: Inbox<Landing>, besides come: Int = 0
    ) async throws(StorageError) -> Bool {
        guard let query, !reserved.targets.isEmpty else { return true }
        let now = clock.now()
        guard !Task.isCancelled, !pass.mustRestart, pass.emptyFrom == nil,
            let few = queue.startable(of: reserved.targets, besides: come, now: now)
        else { return try await giveBackReserved(query) }
        let targets = Array(reserved.targets.prefix(few))
        reserved.targets.removeFirst(few)
        var version: ListVersion?
        let wanted = try await whatIsWanted(of: targets, reserved.granted, &version, query)
        reserved.granted.subtract(targets.map(\.offset))
        try await ask(wanted, Asked(at: storageTime, under: version), in: &group, landings)
        return wanted.count == targets.count
    }

    /// What came with what was stored has changed what is asked for. Where it has not, they are next again, when there
    /// is a next.
    private func giveBackReserved(_ query: QueryID) async throws(StorageError) -> Bool {
        let (targets, granted) = reserved
        reserved = ([], [])
        for target in targets { queue.leftToOthers(target) }
        if !pass.mustRestart { queue.putBack(targets.filter { $0.offset < pass.emptyFrom ?? .max }) }
        let edits = granted.sorted().compactMap { offset in
            leases.removeValue(forKey: offset).map { LedgerEdit.released(offset: offset, lease: $0) }
        }
        if !edits.isEmpty { try await record(edits, for: query) }
        return true
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

    private func request(for target: FetchTarget) async throws(StorageError) -> PageRequest {
        switch target {
        case .head:
            var validator: Validator?
            if !asksUnconditionally, let glance, glance.head != nil {
                validator = glance.validator
            } else if !asksUnconditionally, let query, let list = try await storage.outline(of: query) {
                validator = list.heldPages.first { $0.offset == 0 }?.validator
                // A page whose bytes are damaged is not "not modified".
                if try await storage.window(of: query, 0..<pageWindow(list))?.damaged.isEmpty == false {
                    validator = nil
                }
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

    private func pageWindow(_ list: ListOutline) -> Int { list.heldPages.first?.count ?? 0 }
}
