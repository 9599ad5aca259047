#if PostgreSQL
/// The end of a pool.
extension Reactor {
    func close(_ closer: CheckedContinuation<Void, Never>?) {
        if let closer { closers.append(closer) }
        guard closeBy == nil else { return }
        let time = now
        closeBy = time + Reactor.closeLimit
        stop.send()
        for connection in all { connection.close(at: time) }
        for request in groups { complete(request, .closed(isOutcomeUnknown: false)) }
        for request in transactions { complete(request, .closed(isOutcomeUnknown: false)) }
        for connection in connections {
            for request in connection.held { complete(request, .closed(isOutcomeUnknown: false)) }
            connection.held = Fifo()
        }
        (groups, transactions) = (Fifo(), Fifo())
        for subscriber in subscribers.values { subscriber.continuation.finish() }
        subscribers = [:]
    }

    func finish() {
        for command in mailbox.end() {
            switch command {
            case .submit(let submission): enqueue(submission)
            case .subscribe(_, _, let continuation): continuation.finish()
            case .close(let closer): if let closer { closers.append(closer) }
            case .cancel, .release, .connected, .cancelReturned, .unsubscribe: break
            }
        }
        for closer in closers { closer.resume() }
    }
}
#endif
