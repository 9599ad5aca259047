#if PostgreSQL
import CPostgres

/// Side threads for connecting and cancelling, because both can block.
extension Reactor {
    /// Opens a further connection, one at a time. Returns true when a request should wait for the new connection. It
    /// should wait while opening is expected to be faster than waiting for the busy connection. It should also wait if
    /// a request has been running on the busy connection for long. The rest of that request may take any time, and a
    /// request that was sent after it could not move to the new connection.
    func isGrowing(at time: Duration, beside busy: PostgresConnection?) -> Bool {
        if !connections.contains(where: \.machine.isConnecting), let gate = connectGate, gate <= time,
            let connection = connections.first(where: { $0.machine.earliestConnect != nil })
        {
            growthBegan = time
            start(connection, at: time)
        }
        let isConnecting = connections.contains(where: \.machine.isConnecting)
        if busy?.machine.isStalled(at: time) == true { return isConnecting || connectGate != nil }
        return isConnecting && time < growthBegan + Reactor.growthLimit
    }

    /// The earliest time of the next attempt to connect. `nil` if no connection is disconnected. All connections lead
    /// to the same servers, so the longest back-off delays all attempts.
    var connectGate: Duration? { connections.compactMap(\.machine.earliestConnect).max() }

    func start(_ connection: PostgresConnection, at time: Duration) {
        guard connection.connect(at: time) else { return }
        let (mailbox, stop, info, index) = (mailbox, stop, configuration.info, connection.index)
        let needsTest = configuration.options.namedStatements && connection !== listener
        startSideThread(orElse: .connected(connection: index, .failure(PostgresError(.unavailable, "no thread")))) {
            mailbox.post(.connected(connection: index, Connector.connect(info, testsPooler: needsTest, stop: stop)))
        }
    }

    func connected(_ index: Int, _ result: Result<SessionHandle, PostgresError>) {
        guard closeBy == nil else { return }
        let connection = connection(index)
        connection.connected(result, at: now)
        switch result {
        case .success: if connection === listener { listenToAll() }
        case .failure(let error):
            guard index < connections.count, Connector.isPermanent(error),
                !connections.contains(where: \.machine.isLive)
            else { return }
            for request in groups { fail(request, error) }
            for request in transactions { fail(request, error) }
            (groups, transactions) = (Fifo(), Fifo())
        }
    }

    private func fail(_ request: Request, _ error: PostgresError) {
        request.failure = error
        complete(request, .failed)
    }

    // MARK: Side threads

    func cancel(_ cancel: OpaquePointer, of connection: PostgresConnection) {
        /// `@unchecked` because only the side thread uses the pointer, once the reactor has handed it over.
        final class CancelHandle: @unchecked Sendable {
            let pointer: OpaquePointer
            init(_ pointer: OpaquePointer) { self.pointer = pointer }
            deinit { PQfreeCancel(pointer) }
        }
        let (handle, mailbox) = (CancelHandle(cancel), mailbox)
        let returned = Command.cancelReturned(connection: connection.index, session: connection.session)
        startSideThread(orElse: returned) {
            var message = [CChar](repeating: 0, count: 256)
            _ = PQcancel(handle.pointer, &message, Int32(message.count))
            mailbox.post(returned)
        }
    }

    private func startSideThread(orElse failure: Command, _ body: @escaping @Sendable () -> Void) {
        sideThreads += 1
        if !CLibrary.startThread(body) { mailbox.post(failure) }
    }
}
#endif
