import PageModel

// Starts the work that the machine decides on, follows its progress, and ends it.
extension ListMachine.Work {
    fileprivate var syncWork: SyncOptions.Work {
        switch self {
        case .refresh: .refresh
        case .next: .next
        case .all: .everything
        }
    }
}

extension ListController {
    /// Performs the decision of the machine, and returns the outcome. A call that joined a cancelled load begins it
    /// again.
    func perform(_ decide: (inout ListMachine) -> ListMachine.Decision) async throws -> LoadOutcome {
        while true {
            let answer = decide(&machine)
            do { return try await perform(answer) } catch is CancelledWork {
                if isForgotten { return .superseded }
            }
        }
    }

    func perform(_ answer: ListMachine.Decision) async throws -> LoadOutcome {
        switch answer {
        case .finished(let outcome):
            publish(current)
            return outcome
        case .join(let ticket):
            return try await outcome(of: ticket).joined
        case .wait(let ticket):
            // A failure of the refresh is reported to the callers of the refresh only.
            do { _ = try await outcome(of: ticket) } catch {
                guard error is ListFailure || error is StorageError else { throw error }
            }
            return .superseded
        case .start(let work, let ticket, let superseded):
            if let superseded { drop(superseded) }
            // A recorded failure is not shown any more once its retry has begun.
            if let attempt = recordedFailure?.attempt, work != .next || attempt.kind == .next {
                knownAttempts[attempt.kind] = attempt
            }
            publish(current)
            tasks[ticket] = Task(executorPreference: context.executor) { await self.run(work, ticket) }
            return try await outcome(of: ticket)
        }
    }

    private func run(_ work: ListMachine.Work, _ ticket: Int) async {
        hasReplacedUnstored = false
        let entry = context.runs.enter(key)
        defer { context.runs.leave(entry) }
        let before = current
        if work == .next, let failure = stopFailure { return finish(ticket, .failure(failure)) }
        if work == .next, await runUnstored(ticket) { return }
        do {
            // Without these items the list would end before them, whatever is loaded after them.
            if work == .next, let damaged = before.damageAtEnd { _ = try await markDamaged([damaged]) }
            let undecodable = work == .next ? [] : openItems(since: before)
            var report = try await sync(work.syncWork, ticket, again: undecodable.ranges)
            var ended = work
            if report.isTailContradicted, machine.isRunning(ticket) { report = try await walk(after: report, ticket) }
            if work != .next, report.headFailure == nil { try await refetchUnusable(ticket, before, report) }
            if work == .all, report.headFailure == nil {
                if before.isLoaded, !before.hasMore, !hasReplacedUnstored { try await readUnprovenEnd(ticket) }
                _ = try await fetchUnstoredPages(toTheEnd: true, ticket)
            }
            if work == .refresh, report.headFailure == nil, lacksRows(since: before), machine.isRunning(ticket) {
                ended = .next
                if let next = try await loadRows(ticket, since: before) { report = next }
            }
            finish(ticket, ending(of: ended, report, before))
        } catch {
            finish(ticket, .failure(error))
        }
        if hasChangedMeanwhile, machine.work == nil { try? await updateSnapshot() }
        // A failure of another writer that was reported during the work was not shown then.
        showRecordedFailure()
    }

    /// Runs a part of the work, and shows its result.
    private func sync(
        _ work: SyncOptions.Work, _ ticket: Int, again: [Range<Int>] = []
    ) async throws -> SyncReport {
        var options = context.options.sync
        (options.work, options.again) = (work, again)
        // Items after the limit could not be shown.
        if work == .everything { options.mostItems = context.builder.itemLimit }
        // A load of the next page receives one page. The limit of repetitions counts the pages of several such loads.
        if work == .next { options.repetitionsBefore = repetitions }
        let sync = ListSync(
            storage: context.storage, source: source, key: key, options: options, clock: context.clock,
            jitter: context.jitter, logger: context.logger)
        movedBehindStored = nil
        let (progress, continuation) = AsyncStream<SyncEvent>.makeStream()
        // The events of the run are handled here, in order, while the run continues.
        async let running: SyncReport = {
            defer { continuation.finish() }
            return try await sync.run { continuation.yield($0) }
        }()
        for await event in progress { await progressed(event, ticket) }
        let report = try await running
        repetitions = work == .next ? report.repetitions : 0
        hasChangedMeanwhile = false
        try await updateSnapshot()
        try await rereadMoved(ticket)
        return report
    }

    /// Whether the list shows no row after a refresh, although it continues. Page one then has no items, or it was
    /// loaded for the first time and none of its items decodes.
    private func lacksRows(since before: ListSnapshot<Value>) -> Bool {
        current.isEmptyWithMore || !before.isLoaded && current.isUndecodableWithMore && stop == nil
    }

    /// Loads further pages until one of them adds a row, five pages at most. In a screen without rows, no item can
    /// appear and request the next page.
    /// - Returns: the report of the last load. Returns nil if all these pages are in memory only.
    /// - Throws: `ListFailure` when a page cannot be fetched.
    private func loadRows(_ ticket: Int, since before: ListSnapshot<Value>) async throws -> SyncReport? {
        var report: SyncReport?
        for _ in 0..<EphemeralPages.mostEmptyAnswers where machine.isRunning(ticket) {
            let page = current
            if try await !fetchUnstoredPages(toTheEnd: false, ticket) {
                let next = try await sync(.next, ticket)
                if case .failure(let error) = ending(of: .next, next, page) { throw error }
                report = next
            }
            guard current.headEnd > page.headEnd, lacksRows(since: before) else { break }
        }
        return report
    }

    /// Reads the whole list after a refresh whose total shows a change after page one, and after a load of the next
    /// page that has reached another end than the total (R22). A total that the walk does not explain becomes an
    /// estimate, so that no later refresh walks the chain because of it.
    /// - Throws: `ListFailure` when a page cannot be fetched.
    private func walk(after refresh: SyncReport, _ ticket: Int) async throws -> SyncReport {
        var report = try await sync(.everything, ticket)
        // A cancelled load must not report failures of earlier runs.
        try Task.checkCancellation()
        if report.outcome != .complete, report.headFailure == nil,
            let entry = report.failures.decisive(within: report.duration), let failure = entry.failure
        {
            throw ListFailure(
                .refresh, failure, nextAttemptAt: own(entry.nextAttemptAt, report), cause: source.cause)
        }
        if report.outcome == .unproven, let record = report.state?.record, let total = record.total.exactCount {
            // The answers of the walk contradict each other, and so would those of another walk.
            _ = try await context.storage.commit(
                CommitPlan(query: record.id, version: record.version, edits: [.setTotal(.estimate(total))]))
            try await updateSnapshot()
        }
        if !report.reconciliation.isChange { report.reconciliation = refresh.reconciliation }
        return report
    }

    /// Fetches the page after the unstored pages, if the list shows any. Returns false when no unstored page is shown,
    /// so that the work needs a run.
    private func runUnstored(_ ticket: Int) async -> Bool {
        hasChangedMeanwhile = false
        let before = current
        do {
            guard try await fetchUnstoredPages(toTheEnd: false, ticket) else { return false }
            let now = current
            finish(
                ticket,
                .success(
                    outcome(from: before, to: now)
                        ?? (now.hasMore ? hasReplacedUnstored ? .changed : .upToDate : .endReached)))
        } catch {
            finish(ticket, .failure(error))
        }
        if hasChangedMeanwhile, machine.work == nil { try? await updateSnapshot() }
        // A failure of another writer that was reported during the work was not shown then.
        showRecordedFailure()
        return true
    }

    /// Handles an event of this list's own work.
    private func progressed(_ event: SyncEvent, _ ticket: Int) async {
        guard machine.isRunning(ticket) else { return }
        switch event {
        case .stored(let range, _, _):
            guard events.hasListeners || snapshots.hasListeners else { return }
            try? await rebuild(announcing: range)
        case .notStored(let offset, let page):
            await showUnstored(page, at: offset, ticket)
        case .reconciled:
            removeUnstored()
        case .opened, .failed, .waiting, .warning, .acted:
            break
        }
    }

    func sendPageLoaded(_ range: Range<Int>) {
        guard events.hasListeners else { return }
        let end = stop?.lowerBound ?? .max
        for run in current.segments where run.isHeld && run.offset < end && run.range.overlaps(range) {
            let part = range.clamped(to: run.range)
            events.send(.pageLoaded(part, part.map { run.items[$0 - run.offset] }))
        }
    }

    private func finish(_ ticket: Int, _ result: Result<LoadOutcome, any Error>) {
        tasks[ticket] = nil
        var failure: ListFailure?
        if case .failure(let error) = result {
            failure = error as? ListFailure ?? (error as? StorageError).map { ListFailure($0) }
        }
        let mayPrefetch = (machine.work == .refresh || machine.work == .all) && failure == nil
        let wasLeft = Task.isCancelled && isWithoutResult(result, of: machine.work)
        guard machine.ended(ticket, failure: failure, isLastItemVisible: isLastItemVisible) else {
            return waiters.answer(ticket, .success(.superseded))
        }
        publish(current)
        // A failed prefetch is not reported until another item close to the end appears.
        if let failure, machine.failure == failure { events.send(.failed(failure)) }
        waiters.answer(ticket, wasLeft ? .failure(CancelledWork()) : result)
        if mayPrefetch { prefetchAfterLoad() }
        resumeSettledCallers()
    }

    /// Whether cancelled work has no result for callers that have joined the work since. A part of the list is not a
    /// result of a load of the whole list.
    private func isWithoutResult(_ result: Result<LoadOutcome, any Error>, of work: ListMachine.Work?) -> Bool {
        switch result {
        case .success(.superseded): true
        case .success: work == .all && current.hasMore && !current.isAtItemLimit
        case .failure(let error): error is CancellationError
        }
    }

    /// Ends superseded work.
    func drop(_ ticket: Int) {
        tasks.removeValue(forKey: ticket)?.cancel()
        waiters.answer(ticket, .success(.superseded))
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
            Task(executorPreference: context.executor) { await self.removeCaller(ticket, number) }
        }
    }

    /// Removes a caller that no longer waits. The work ends with its last waiting caller.
    private func removeCaller(_ ticket: Int, _ number: Int) {
        if waiters.cancel(number, ticket) { leaveIfUnwanted(ticket) }
    }

    private func leaveIfUnwanted(_ ticket: Int) {
        if !waiters.areThere(for: ticket) { tasks[ticket]?.cancel() }
    }
}
