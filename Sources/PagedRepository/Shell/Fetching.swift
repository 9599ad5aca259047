import Logging
import Metrics
import PageModel

/// The part of a run that talks to the origin: leases, child tasks, failures.
extension SyncRun {
    private struct Landing: Sendable {
        var target: FetchTarget
        var asked: Asked
        var result: Result<PageAnswer, any Error>
    }

    /// Fetches until the queue has nothing more to do now.
    func drive() async throws(StorageError) -> FetchQueue.Ending {
        let result = await withTaskGroup(of: Landing.self) { group -> Result<FetchQueue.Ending, StorageError> in
            do throws(StorageError) {
                while true {
                    if Task.isCancelled { queue.stop() }
                    let (targets, action) = nextActions()
                    // What was left to others may have made room, or left nothing to wait for.
                    guard try await start(targets, in: &group) else { continue }
                    switch action {
                    case .fetch:
                        continue
                    case .sleep(let moment):
                        progress(.waiting(until: moment))
                        try? await clock.sleep(until: moment)
                    case .wait:
                        guard let landing = await group.next() else {
                            return .failure(StorageError(.internal, "nothing is in flight, yet something is waited for"))
                        }
                        try await handle(landing)
                    case .finish(let ending):
                        return .success(ending)
                    }
                }
            } catch {
                group.cancelAll()
                return .failure(error)
            }
        }
        return try result.get()
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
        _ targets: [FetchTarget], in group: inout TaskGroup<Landing>
    ) async throws(StorageError) -> Bool {
        guard !targets.isEmpty else { return true }
        let wanted = targets.filter(\.isPage)
        let questions = targets.filter { !$0.isPage }
        var targets = wanted
        let now = clock.now()
        var version: ListVersion?
        if let query, !wanted.isEmpty {
            // Before the request, so that a crash leaves a record of what was in flight (R31).
            let granted = Set(
                try await storage.claim(targets.map(\.offset), of: query, until: now + options.lease, at: now))
            targets.removeAll { !granted.contains($0.offset) }
            for target in wanted where !granted.contains(target.offset) { leaveToOthers(target) }
            for target in targets where try await isHeldByNow(target, query) {
                // Somebody brought it between our plan and our lease.
                try await storage.record([.succeeded(offset: target.offset)], for: query, at: now)
                targets.removeAll { $0 == target }
                leaveToOthers(target)
            }
        }
        if let query, targets.contains(where: \.hasPlace) { version = try await storage.excerpt(of: query, 0..<0)?.record.version }
        let asked = Asked(at: now, under: version)
        for target in targets + questions {
            let request = try await request(for: target)
            let source = source
            group.addTask {
                do {
                    return Landing(target: target, asked: asked, result: .success(try await source.fetch(request)))
                } catch {
                    return Landing(target: target, asked: asked, result: .failure(error))
                }
            }
        }
        return targets.count == wanted.count
    }

    private func leaveToOthers(_ target: FetchTarget) {
        queue.leftToOthers(target)
        isElsewhere = true
    }

    /// Asked under the lease: from here on nobody else brings it.
    private func isHeldByNow(_ target: FetchTarget, _ query: QueryID) async throws(StorageError) -> Bool {
        let range: Range<Int>
        switch target {
        case .head, .probe, .sweep: return false
        case .span(let span, _): range = span
        case .follow(_, let offset):
            // What is walked through again is held, of course.
            if tailWalk != nil { return false }
            range = offset..<offset + 1
        }
        guard let list = try await storage.excerpt(of: query, range) else { return false }
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

    private func pageWindow(_ list: ListOutline) -> Int { list.heldPages.first?.count ?? 0 }

    private func handle(_ landing: Landing) async throws(StorageError) {
        switch landing.result {
        case .success(let answer):
            queue.landed(landing.target)
            attempts[landing.target.offset] = nil
            hasEndedLease = false
            asked = landing.asked
            switch landing.target {
            case .head: try await headArrived(answer)
            case .span(let range, let overlap): try await spanArrived(answer, range, overlap: overlap)
            case .follow(let cursor, let offset): try await followerArrived(answer, cursor, at: offset)
            case .probe(let range): return try await probeArrived(answer, range)
            case .sweep(let range): return try await sweepArrived(answer, range)
            }
            // An answer that came to nothing leaves no lease behind, or we would wait for ourselves.
            if !hasEndedLease, let query {
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
        let attempt = (attempts[target.offset] ?? 0) + 1
        attempts[target.offset] = attempt
        let now = clock.now()
        let next = options.retry.nextAttempt(after: failure, attempt: attempt, now: now, chance: chance())
        queue.failed(target, failure, nextAttemptAt: next)
        if next == nil { givenUp.insert(target.offset) }
        if target == .head { headFailure = failure }
        if !target.isPage, next == nil { questionFailed(failure) }
        Counter(label: "pagecache_fetch_failures_total").increment()
        logger.debug("fetch failed", metadata: ["class": "\(failure.failureClass.rawValue)", "attempt": "\(attempt)"])
        progress(.failed(offset: target.offset, failure, nextAttemptAt: next))
        if let query, target.isPage {
            try await storage.record(
                [.failed(offset: target.offset, failure: failure, nextAttemptAt: next)], for: query, at: now)
        }
        if case .follow = target, !failure.isRetryable, failure.failureClass == .refused {
            cursorWasRejected(failure, at: target.offset)
        }
    }
}
