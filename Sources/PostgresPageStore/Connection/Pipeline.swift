#if PostgreSQL
extension PipelineMachine {
    /// A request that was sent.
    struct Entry: Hashable, Sendable {
        enum Phase: Hashable, Sendable {
            case running(deadline: Duration)
            /// The caller still waits for the true outcome, until `answerBy`.
            case interrupted(Interruption, answerBy: Duration)
            /// The caller has received an error. The results are dropped.
            case abandoned
        }

        let id: RequestID
        let kind: Kind
        /// The number of results before the sync.
        var remaining: Int
        var phase: Phase
        var failure: ServerFailure?
        /// Whether a cancel request with another target may have hit this request.
        var mayBeVictim = false
        /// The time at which to cancel the request, if it is then interrupted and the first one of the pipeline.
        var cancelAt: Duration?

        var isInterrupted: Bool {
            switch phase {
            case .running: false
            case .interrupted, .abandoned: true
            }
        }
    }

    /// A cancel request that may still hit a statement.
    struct Cancel: Hashable, Sendable {
        let target: RequestID
        let limit: Duration
        var hasReturned = false
        var isTargetComplete = false
    }

    /// The requests that were put into the send buffer and are not complete, in the order in which they were sent.
    struct Pipeline: Sendable {
        var entries = Fifo<Entry>()
        var isFlushed = true
        /// The time at which the present first request became the first one.
        var headSince = Duration.zero
        var cancel: Cancel?
        /// Whether the server announced that it ends the session and runs nothing more.
        var isShutDown = false
        var backoff: ReconnectBackoff

        let limits: Limits

        init(limits: Limits, backoff: ReconnectBackoff) {
            self.limits = limits
            self.backoff = backoff
        }

        var nextTimer: Duration? {
            var next = cancel?.limit
            func consider(_ time: Duration) { next = min(next ?? time, time) }
            for entry in entries {
                switch entry.phase {
                case .running(let deadline): consider(deadline)
                case .interrupted(_, let answerBy): consider(answerBy)
                case .abandoned: break
                }
            }
            if cancel == nil, let head = entries.first, head.isInterrupted, let time = head.cancelAt { consider(time) }
            return next
        }

        // MARK: Results

        /// Handles a message of the server. Returns nil when the protocol does not allow the message at this point.
        mutating func received(_ event: ResultEvent, at now: Duration) -> [Action]? {
            if case .fatal(let isShutdown) = event {
                isShutDown = isShutDown || isShutdown
                return []
            }
            guard var head = entries.first else { return nil }
            switch event {
            case .rows, .aborted:
                guard head.remaining > 0 else { return nil }
                head.remaining -= 1
            case .failed(let failure):
                // If no statement remains, the commit itself failed, for example because of a deferred constraint.
                head.remaining = max(0, head.remaining - 1)
                head.failure = head.failure ?? failure
            case .sync:
                guard head.remaining == 0 else { return nil }
                return completeHead(head, at: now)
            case .fatal, .unexpected:
                return nil
            }
            entries.first = head
            return head.phase == .abandoned ? [] : [.keep(head.id)]
        }

        private mutating func completeHead(_ head: Entry, at now: Duration) -> [Action] {
            entries.removeFirst()
            headSince = now
            // A standby refuses each LISTEN. Its session, which then ends, must not be opened again without a back-off.
            if head.failure == nil { backoff.succeed() }
            var actions: [Action] = []
            switch head.phase {
            case .abandoned: break
            case .running: actions.append(outcome(head, nil))
            case .interrupted(let interruption, _): actions.append(outcome(head, interruption))
            }
            if cancel?.target == head.id {
                cancel?.isTargetComplete = true
                if cancel?.hasReturned == true { cancel = nil }
            }
            // The next request was not running when it was interrupted. It may be short, so it is cancelled after a
            // delay.
            if entries.first?.isInterrupted == true { entries.first?.cancelAt = now + limits.cancelDelay }
            return actions
        }

        private func outcome(_ entry: Entry, _ interruption: Interruption?) -> Action {
            switch entry.failure {
            case nil: .complete(entry.id, .rows)
            case .queryCanceled:
                if let interruption {
                    .complete(entry.id, .interrupted(interruption, isOutcomeUnknown: false))
                } else if entry.mayBeVictim && entry.kind == .group {
                    .requeue(entry.id)
                } else {
                    .complete(entry.id, .failed)
                }
            case .staleStatement where entry.kind == .group && interruption == nil: .requeue(entry.id)
            case .staleStatement, .other: .complete(entry.id, .failed)
            }
        }

        // MARK: Interruptions

        mutating func timePassed(_ now: Duration) -> [Action] {
            var actions: [Action] = []
            for index in entries.indices {
                if case .running(let deadline) = entries[index].phase, deadline <= now {
                    interrupt(at: index, .deadline, now)
                }
                if case .interrupted(let interruption, let answerBy) = entries[index].phase, answerBy <= now {
                    entries[index].phase = .abandoned
                    let mayCommit = entries[index].kind != .step
                    actions.append(
                        .complete(entries[index].id, .interrupted(interruption, isOutcomeUnknown: mayCommit)))
                }
            }
            return actions + startCancel(at: now)
        }

        mutating func interrupt(_ id: RequestID, _ interruption: Interruption, at now: Duration) -> [Action] {
            for index in entries.indices where entries[index].id == id && !entries[index].isInterrupted {
                interrupt(at: index, interruption, now)
            }
            return startCancel(at: now)
        }

        private mutating func interrupt(
            at index: Int, _ interruption: Interruption, _ now: Duration
        ) {
            entries[index].phase = .interrupted(interruption, answerBy: now + limits.grace)
            if index == entries.startIndex { entries[index].cancelAt = now }
        }

        /// Cancels the first request of the pipeline if it is interrupted and its delay has passed.
        private mutating func startCancel(at now: Duration) -> [Action] {
            guard cancel == nil, let head = entries.first, head.isInterrupted, let time = head.cancelAt, time <= now
            else { return [] }
            cancel = Cancel(target: head.id, limit: now + limits.cancelLimit)
            for index in entries.indices.dropFirst() { entries[index].mayBeVictim = true }
            return [.cancel]
        }

        mutating func cancelReturned(at now: Duration) -> [Action] {
            cancel?.hasReturned = true
            if cancel?.isTargetComplete == true { cancel = nil }
            return startCancel(at: now)
        }

        // MARK: Loss

        func completionsAfterLoss(_ loss: Loss) -> [Action] {
            entries.indices.compactMap { index in
                let entry = entries[index]
                let interruption: Interruption?
                switch entry.phase {
                case .abandoned: return nil
                case .running: interruption = nil
                case .interrupted(let reason, _): interruption = reason
                }
                if entry.failure != nil { return .complete(entry.id, .failed) }
                let hadNoEffect = entry.kind == .step || hadNoEffect(index)
                if let interruption {
                    return .complete(entry.id, .interrupted(interruption, isOutcomeUnknown: !hadNoEffect))
                }
                if loss == .protocolViolation && index == entries.startIndex {
                    return .complete(entry.id, .protocolViolation)
                }
                guard hadNoEffect else { return .complete(entry.id, .unknownOutcome) }
                return entry.kind == .group ? .requeue(entry.id) : .complete(entry.id, .unavailable)
            }
        }

        /// Whether the request at `index` certainly changed nothing when the connection was lost.
        private func hadNoEffect(_ index: Int) -> Bool {
            // The sync of the last request is the end of the send buffer. Without a sync nothing commits.
            if !isFlushed && index == entries.endIndex - 1 { return true }
            guard isShutDown else { return false }
            // An implicit transaction commits at its sync, an explicit one at its last statement.
            let entry = entries[index]
            return index > entries.startIndex || entry.remaining > (entry.kind == .commit ? 1 : 0)
        }
    }
}
#endif
