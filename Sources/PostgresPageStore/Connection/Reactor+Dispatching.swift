#if PostgreSQL
/// The choice of the connection for each request and each transaction.
extension Reactor {
    func dispatch(at time: Duration) {
        guard closeBy == nil else { return }
        for connection in connections {
            while let request = connection.held.first,
                request.isFirstStep ? connection.machine.isDrained : connection.machine.isAccepting
            {
                connection.held.removeFirst()
                connection.submit(request, at: time)
            }
        }
        while let request = groups.first {
            let connection = leastLoaded(at: time) { $0.owner == nil && $0.machine.isAccepting }
            if connection?.machine.load != 0, isGrowing(at: time, beside: connection) { break }
            guard let connection else { break }
            groups.removeFirst()
            connection.submit(request, at: time)
        }
        // If there are at least two connections, one of them stays shared.
        while let request = transactions.first, let id = request.transaction,
            pins.count < max(1, connections.count - 1)
        {
            let candidate = leastLoaded(at: time) { $0.owner == nil && $0.machine.isLive }
            if candidate?.machine.isDrained != true, isGrowing(at: time, beside: candidate) { break }
            guard let candidate else { break }
            transactions.removeFirst()
            candidate.owner = id
            pins[id] = Pin(connection: candidate.index, session: candidate.session)
            request.connection = candidate.index
            if candidate.machine.isDrained {
                candidate.submit(request, at: time)
            } else {
                candidate.held.append(request)
            }
        }
    }

    /// Returns the connection with the fewest requests. A connection whose request has been running for long comes
    /// last.
    private func leastLoaded(
        at time: Duration, where isCandidate: (PostgresConnection) -> Bool
    ) -> PostgresConnection? {
        var best: (connection: PostgresConnection, isStalled: Bool)?
        for connection in connections where isCandidate(connection) {
            let isStalled = connection.machine.isStalled(at: time)
            let isBetter =
                best.map { best in
                    best.isStalled == isStalled
                        ? connection.machine.load < best.connection.machine.load : best.isStalled
                } ?? true
            if isBetter { best = (connection, isStalled) }
        }
        return best?.connection
    }

    func release(_ id: TransactionID) {
        // There is no pin if the first step of the transaction was still queued when its task ended.
        guard let pin = pins.removeValue(forKey: id) else { return }
        let connection = connections[pin.connection]
        guard connection.owner == id else { return }
        connection.owner = nil
        if connection.session == pin.session, connection.isInTransaction { connection.lose(.broken, at: now) }
    }
}
#endif
