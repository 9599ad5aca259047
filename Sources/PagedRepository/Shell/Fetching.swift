import PageModel

/// The part of a run that sends requests to the origin, in child tasks.
extension SyncRun {
    private enum Event: Sendable {
        /// An answer has arrived in the mailbox. It may have been taken already, together with an earlier one.
        case completed
        /// Half of the duration of a lease has passed.
        case renewalDue
    }

    /// Fetches until the queue has no more work for now. Returns the reason.
    func drive() async throws(StorageError) -> FetchQueue.Ending {
        let result = await withTaskGroup(of: Event.self) { group -> Result<FetchQueue.Ending, StorageError> in
            // After the last answer, only the alarm is still running.
            defer { group.cancelAll() }
            var isAlarmSet = false
            let completions = Mailbox<FetchCompletion>()
            do throws(StorageError) {
                while true {
                    if Task.isCancelled { queue.stop() }
                    // Skipped targets may have made room for other targets, or may have been the last ones, so the loop
                    // starts over.
                    guard try await startReserved(in: &group, completions) else { continue }
                    let (targets, action) = nextActions()
                    guard try await start(targets, in: &group, completions) else { continue }
                    if !isAlarmSet, !Task.isCancelled, leases.keepsHead || queue.inFlight.contains(where: \.isPage) {
                        isAlarmSet = true
                        setAlarm(in: &group)
                    }
                    switch action {
                    case .fetch:
                        continue
                    case .sleep(let moment):
                        telemetry.progress(.waiting(until: moment))
                        await wait(until: moment)
                    case .wait:
                        switch await group.next() {
                        case .completed:
                            let come = completions.take()
                            storage.expire()
                            // The next requests are sent before these answers are stored, so that the origin works in
                            // the meantime. This is done only if all answers are as expected.
                            if areAsExpected(come) {
                                _ = try await startReserved(in: &group, completions, besides: come.count)
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
                        if try await abandonProbeOrSweep(ending) { continue }
                        return .success(ending)
                    }
                }
            } catch {
                return .failure(error)
            }
        }
        // All remaining leases are released, whatever the result. Otherwise other runs, and the next run of this
        // process, would wait for them.
        let left = leases.releaseAll()
        // With an unavailable storage, the run would only wait once more. The leases of an ended owner become void in
        // any case.
        var isUnavailable = false
        if case .failure(let error) = result, error.code == .unavailable { isUnavailable = true }
        if let query, !left.isEmpty, !isUnavailable {
            do throws(StorageError) {
                try await record(left, for: query)
            } catch {
                // The first error is more informative, so it is thrown instead of this one.
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

    /// Returns all targets to fetch now, and the first action that is not a fetch.
    private func nextActions() -> ([FetchTarget], FetchQueue.Action) {
        var targets: [FetchTarget] = []
        while true {
            let action = queue.next(now: clock.now())
            guard case .fetch(let target) = action else { return (targets, action) }
            targets.append(target)
        }
    }

    /// Takes the leases of the targets, and sends the requests. Returns false when some targets were skipped, because
    /// other owners hold their leases or have stored the pages.
    private func start(
        _ targets: [FetchTarget], in group: inout TaskGroup<Event>, _ completions: Mailbox<FetchCompletion>
    ) async throws(StorageError) -> Bool {
        let pages = targets.filter(\.isPage)
        var granted: [FetchTarget] = []
        var version: ListVersion?
        var askedAt = storageTime
        if let query, !pages.isEmpty {
            // Leases are taken before the request, so that a crash leaves a record of the pages in flight (R31). This
            // run may already hold the lease of a target.
            granted = pages.filter(leases.isKept)
            let open = pages.filter { !granted.contains($0) }
            if !open.isEmpty {
                var request = leaseRequest(open)
                let looksAtHead = open == [.firstPage] && readExtent.unread != nil
                if looksAtHead { request.outlineRange = 0..<1 }
                let grant = try await storage.claim(request, of: query)
                leases.take(grant, request, at: clock.now())
                if looksAtHead { lookAtHead(grant.list) }
                askedAt = grant.grantedAt
                granted += try await stillWanted(of: open, Set(grant.offsets), &version, query)
            }
            if version == nil, granted.contains(where: \.hasPlace) {
                version = try await storage.excerpt(of: query, 0..<0)?.record.version
            }
        } else {
            granted = pages
        }
        try await ask(
            granted + targets.filter { !$0.isPage }, RunLeases.RequestState(at: askedAt, under: version), in: &group,
            completions)
        return granted.count == pages.count
    }

    /// Starts targets whose leases were taken with a commit, as many as may be in flight. Returns false when some of
    /// these targets were skipped, because other owners hold their leases or have stored the pages.
    /// - Parameter come: the number of answers that have arrived, and whose requests still count as in flight. Defaults
    ///   to 0.
    private func startReserved(
        in group: inout TaskGroup<Event>, _ completions: Mailbox<FetchCompletion>, besides come: Int = 0
    ) async throws(StorageError) -> Bool {
        guard let query, !leases.reserved.targets.isEmpty else { return true }
        let now = clock.now()
        guard !Task.isCancelled, !pass.mustRestart, pass.fill.emptyFrom == nil,
            let few = queue.startable(of: leases.reserved.targets, besides: come, now: now)
        else { return try await releaseReserved(query) }
        let started = leases.startReserved(few)
        var version: ListVersion?
        let wanted = try await stillWanted(of: started.targets, started.granted, &version, query)
        try await ask(wanted, RunLeases.RequestState(at: storageTime, under: version), in: &group, completions)
        return wanted.count == started.targets.count
    }

    /// Releases the leases of reserved targets that must not start now, because of a stop, a pause or a stored answer.
    /// The targets return to the front of the queue, unless the pass restarts.
    private func releaseReserved(_ query: QueryID) async throws(StorageError) -> Bool {
        let (targets, edits) = leases.releaseReserved()
        for target in targets { queue.skippedHeldElsewhere(target) }
        if !pass.mustRestart { queue.requeue(targets.filter { pass.fill.isBeforeEmpty($0.offset) }) }
        if !edits.isEmpty { try await record(edits, for: query) }
        return true
    }

    private func ask(
        _ targets: [FetchTarget], _ requestState: RunLeases.RequestState, in group: inout TaskGroup<Event>,
        _ completions: Mailbox<FetchCompletion>
    ) async throws(StorageError) {
        let asked = RunLeases.RequestState(at: requestState.at, under: requestState.under, totals: belief.totals.count)
        for target in targets {
            let request = try await request(for: target)
            let (source, meters) = (source, telemetry.meters)
            if failures.isRetry(target.offset) { meters.retried() }
            telemetry.report?(.fetch(request), "sent")
            group.addTask {
                // The duration is used for metrics only, and not for decisions.
                let began = ContinuousClock.now
                let result: Result<PageAnswer, any Error>
                do {
                    let answer = try await source.fetch(request)
                    // "Not modified" without a validator says nothing about the list, and the request would be repeated
                    // for ever.
                    if case .notModified = answer, request.validator == nil { throw FetchFailure.notModifiedUnasked }
                    result = .success(answer)
                } catch {
                    result = .failure(error)
                }
                meters.fetched(result, took: began.duration(to: .now))
                completions.put(FetchCompletion(target: target, requestState: asked, result: result))
                return .completed
            }
        }
    }

    private func request(for target: FetchTarget) async throws(StorageError) -> PageRequest {
        switch target {
        case .firstPage:
            var validator: Validator?
            if !belief.drift.asksUnconditionally, let unread = readExtent.unread, unread.head != nil {
                validator = unread.validator
            } else if !belief.drift.asksUnconditionally, let query, let list = try await storage.outline(of: query) {
                validator = list.heldPages.first { $0.offset == 0 }?.validator
                // A page with damaged bytes is requested without its validator, so that the origin sends its items
                // again.
                if try await storage.window(of: query, 0..<pageWindow(list))?.damaged.isEmpty == false {
                    validator = nil
                }
            }
            return PageRequest(.first, size: options.pageSize, validator: validator)
        case .range(let range, let overlap):
            // A whole page is requested even if the gap is shorter, because items that arrive again prove the seam
            // (R21).
            return PageRequest(.offset(range.lowerBound - overlap), size: options.pageSize)
        case .probe(let range):
            return PageRequest(
                .offset(range.lowerBound), size: range.count < belief.sizes.size ? range.count : options.pageSize)
        case .sweep(let range):
            return PageRequest(.offset(range.lowerBound), size: options.pageSize)
        case .cursor(let cursor, _):
            if belief.hidden.isHiding, let position = PositionCursor(cursor)?.offset(source.access) {
                return PageRequest(.offset(position), size: options.pageSize)
            }
            return PageRequest(.cursor(cursor), size: options.pageSize)
        }
    }

    private func pageWindow(_ list: ListOutline) -> Int { list.heldPages.first?.count ?? 0 }
}
