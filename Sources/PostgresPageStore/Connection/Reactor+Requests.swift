#if PostgreSQL
/// The requests of a pool from their submission to their result: queues, deadlines, cancellation and repetition.
extension Reactor {
    func enqueue(_ submission: Submission) {
        let request = Request(submission, deadline: submission.deadline - origin)
        if closeBy != nil { return complete(request, .closed(isOutcomeUnknown: false)) }
        requests[request.id] = request
        switch submission.role {
        case .group: groups.append(request)
        case .step(_, isFirst: true): transactions.append(request)
        case .step(let id, isFirst: false), .commit(let id):
            guard let pin = pins[id], connections[pin.connection].session == pin.session,
                connections[pin.connection].machine.isLive
            else { return complete(request, .unavailable) }
            request.connection = pin.connection
            connections[pin.connection].held.append(request)
        }
        queueTimer = min(queueTimer ?? request.deadline, request.deadline)
    }

    func cancel(_ id: Submission.ID) {
        guard let request = requests[id] else { return }
        if dequeue({ $0 === request }) {
            complete(request, .interrupted(.cancelled, isOutcomeUnknown: false))
        } else if let index = request.connection {
            connection(index).interrupt(id, at: now)
        }
    }

    /// Removes the requests for which `isRemoved` is true from the queues of requests that were not sent. Returns
    /// whether any request was removed.
    private func dequeue(_ isRemoved: (Request) -> Bool) -> Bool {
        var hasRemoved = false
        let remove = { (request: Request) -> Bool in
            guard isRemoved(request) else { return false }
            hasRemoved = true
            return true
        }
        groups.removeAll(where: remove)
        transactions.removeAll(where: remove)
        for connection in connections { connection.held.removeAll(where: remove) }
        return hasRemoved
    }

    func expireQueued(at time: Duration) {
        guard let timer = queueTimer, timer <= time else { return }
        var expired: [Request] = []
        _ = dequeue { request in
            guard request.deadline <= time else { return false }
            expired.append(request)
            return true
        }
        let queued = [Array(groups), Array(transactions)] + connections.map { Array($0.held) }
        queueTimer = queued.joined().map(\.deadline).min()
        let isConnected = connections.contains { $0.machine.isLive }
        for request in expired {
            complete(request, isConnected ? .interrupted(.deadline, isOutcomeUnknown: false) : .unavailable)
        }
    }

    func carryOutOutcomes(at time: Duration) {
        for connection in all {
            let outcomes = connection.outcomes
            connection.outcomes = []
            for outcome in outcomes {
                switch outcome {
                case .complete(let request, let completion): complete(request, completion)
                case .requeue(let request): requeue(request, from: connection, at: time)
                }
            }
            guard !connection.machine.isLive else { continue }
            for request in connection.held { complete(request, .unavailable) }
            connection.held = Fifo()
        }
    }

    private func requeue(_ request: Request, from connection: PostgresConnection, at time: Duration) {
        request.connection = nil
        // If newly prepared statements fail in the same way, too, the request itself is wrong.
        if request.failure?.sqlstate.map(SQLState.isStaleStatement) == true {
            request.repetitions += 1
            if request.repetitions > Reactor.mostRepetitions { return complete(request, .failed) }
        }
        guard case .task = request.submission.receiver else { return complete(request, .unavailable) }
        if closeBy != nil { return complete(request, .closed(isOutcomeUnknown: false)) }
        request.forgetResults()
        groups.prepend(request)
        queueTimer = min(queueTimer ?? request.deadline, request.deadline)
    }

    func complete(_ request: Request, _ completion: PipelineMachine.Completion) {
        requests[request.id] = nil
        let result = result(of: request, completion)
        switch request.submission.receiver {
        case .task(let continuation): continuation.resume(returning: result)
        case .listen(let channel): finishListen(channel, result)
        case .unlisten: break
        }
    }
}
#endif
