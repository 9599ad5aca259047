import PageModel

// Begins what the machine decides, hears how it goes, and ends it.
extension ListController {
    func perform(_ answer: ListMachine.Answer) async throws -> LoadOutcome {
        switch answer {
        case .finished(let outcome):
            publish(current)
            return outcome
        case .join(let ticket):
            return try await outcome(of: ticket).joined
        case .start(let work, let ticket, let superseded):
            if let superseded { drop(superseded) }
            publish(current)
            tasks[ticket] = Task(executorPreference: world.executor) { await self.run(work, ticket) }
            return try await outcome(of: ticket)
        }
    }

    private func run(_ work: ListMachine.Work, _ ticket: Int) async {
        let before = current
        if work == .next, await runUnkept(ticket) { return }
        var options = world.options.sync
        switch work {
        case .refresh: options.work = .refresh
        case .next: options.work = .next
        case .all: options.work = .everything
        }
        let sync = ListSync(
            storage: world.storage, source: source, key: key, options: options, clock: world.clock,
            chance: world.chance,
            logger: world.logger)
        let (progress, continuation) = AsyncStream<SyncEvent>.makeStream()
        // The run tells while it goes on; what it tells is handled here, in order.
        async let running: SyncReport = {
            defer { continuation.finish() }
            return try await sync.run { continuation.yield($0) }
        }()
        for await event in progress { await progressed(event, ticket) }
        do {
            let report = try await running
            hasHeardMeanwhile = false
            try await renew()
            if work == .all, report.headFailure == nil { _ = try await goOnUnkept(toTheEnd: true, ticket) }
            finish(ticket, ending(of: work, report, before))
            if hasHeardMeanwhile, machine.work == nil { try? await renew() }
        } catch {
            finish(ticket, .failure(error))
        }
    }

    /// What follows pages that are not kept is asked for from memory. False: it is a work like any other.
    private func runUnkept(_ ticket: Int) async -> Bool {
        hasHeardMeanwhile = false
        do {
            guard let news = try await goOnUnkept(toTheEnd: false, ticket) else { return false }
            finish(ticket, .success(news > 0 || current.hasMore ? .loaded(news) : .endReached))
        } catch {
            finish(ticket, .failure(error))
        }
        if hasHeardMeanwhile, machine.work == nil { try? await renew() }
        return true
    }

    /// This list's own work goes on: a page of it is stored, or must not be.
    private func progressed(_ event: SyncEvent, _ ticket: Int) async {
        guard machine.isRunning(ticket) else { return }
        switch event {
        case .stored(let range, _, _):
            guard events.hasListeners || snapshots.hasListeners else { return }
            try? await rebuild(telling: range)
        case .notStored(let offset, let page):
            await wasServed(page, at: offset, ticket)
        case .reconciled:
            headWasStored()
        case .opened, .failed, .waiting, .warning:
            break
        }
    }

    func tellLoaded(_ range: Range<Int>) {
        guard events.hasListeners, let run = current.runs.first(where: { $0.isHeld && $0.range.overlaps(range) }) else {
            return
        }
        let part = range.clamped(to: run.range)
        events.send(.pageLoaded(part, part.map { run.items[$0 - run.offset] }))
    }

    private func ending(
        of work: ListMachine.Work, _ report: SyncReport, _ before: ListSnapshot<Value>
    ) -> Result<LoadOutcome, any Error> {
        let now = current
        // The list was removed meanwhile, by a reset or by another process. What was fetched belongs to no list.
        if report.outcome == .purged { return .success(.superseded) }
        let news = max(0, now.runs.count { $0.isHeld } == 0 ? 0 : held(now) - held(before))
        if let failure = report.headFailure {
            return .failure(
                ListFailure(
                    before.isLoaded ? .refresh : .first, failure, nextAttemptAt: own(report.nextAttemptAt, report),
                    cause: source.cause))
        }
        switch work {
        case .refresh:
            // X12: who came along with somebody who gave up has got nothing.
            guard !Task.isCancelled || report.pagesFetched + report.pagesUnchanged > 0 else {
                return .success(.superseded)
            }
            return .success(.loaded(news))
        case .next, .all:
            let isServed = report.pagesNotStored > 0 && !now.isKept
            let isComplete =
                report.outcome == .complete || report.outcome == .damaged && report.state?.isComplete == true
            if isComplete || isServed || now.items.count > before.items.count {
                return .success(news > 0 || now.hasMore ? .loaded(news) : .endReached)
            }
            // The one that was just tried: others may have failed before, and elsewhere.
            let entry = report.failures.max {
                ($0.lastAttemptAt?.milliseconds ?? 0) < ($1.lastAttemptAt?.milliseconds ?? 0)
            }
            guard let entry, let failure = entry.failure else {
                // X12: who gave up is shown no failure; who waits is not sent away with nothing.
                guard report.state != nil, !Task.isCancelled else { return .success(.superseded) }
                let why = report.warnings.last ?? "the origin's answers contradict each other; nothing more came"
                return .failure(ListFailure(.next, FetchFailure(.doubtful, why, isRetryable: true)))
            }
            return .failure(
                ListFailure(.next, failure, nextAttemptAt: own(entry.nextAttemptAt, report), cause: source.cause))
        }
    }

    /// A time of the storage as one of this list's clock (R52).
    private func own(_ moment: Timestamp?, _ report: SyncReport) -> Timestamp? {
        guard let moment, let readAt = report.state?.readAt else { return moment }
        return world.clock.now() + (moment - readAt)
    }

    private func held(_ snapshot: ListSnapshot<Value>) -> Int {
        snapshot.runs.reduce(0) { $0 + ($1.isHeld ? $1.items.count : 0) }
    }

    private func finish(_ ticket: Int, _ result: Result<LoadOutcome, any Error>) {
        tasks[ticket] = nil
        var failure: ListFailure?
        if case .failure(let error) = result { failure = error as? ListFailure }
        guard machine.ended(ticket, failure: failure) else { return waiters.answer(ticket, .success(.superseded)) }
        publish(current)
        // X13: a prefetch that failed is not told before somebody gets there.
        if let failure, machine.failure != nil { events.send(.failed(failure)) }
        waiters.answer(ticket, result)
    }

    /// Ends work that nobody wants any more.
    func drop(_ ticket: Int) {
        tasks.removeValue(forKey: ticket)?.cancel()
        waiters.answer(ticket, .success(.superseded))
    }

    /// R7: bytes that cannot be used are fetched again.
    func refetchUnusable() async throws {
        // What is in memory only is fetched again with page one.
        let stored = 0..<(unkept?.pages.start ?? .max)
        let ranges = current.unusable.filter { !refetched.contains($0) && $0.upperBound <= stored.upperBound }
        guard !ranges.isEmpty, let query, let list = try await world.storage.outline(of: query) else { return }
        refetched.formUnion(ranges)
        _ = try await world.storage.commit(
            CommitPlan(query: query, version: list.record.version, edits: ranges.map { .demote($0) }))
    }

    // MARK: Waiting

    private func outcome(of ticket: Int) async throws -> LoadOutcome {
        let number = waiters.number()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                    leaveIfUnwanted(ticket)
                } else {
                    waiters.add(continuation, number, for: ticket)
                }
            }
        } onCancel: {
            Task(executorPreference: world.executor) { await self.gaveUp(ticket, number) }
        }
    }

    /// X12: somebody does not wait any longer. The work ends with the last who waited.
    private func gaveUp(_ ticket: Int, _ number: Int) {
        if waiters.giveUp(number, ticket) { leaveIfUnwanted(ticket) }
    }

    private func leaveIfUnwanted(_ ticket: Int) {
        if !waiters.areThere(for: ticket) { tasks[ticket]?.cancel() }
    }
}
