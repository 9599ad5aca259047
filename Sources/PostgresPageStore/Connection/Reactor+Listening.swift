#if PostgreSQL
/// A stream of notifications.
struct Subscriber {
    let channel: String
    let continuation: AsyncStream<Notification>.Continuation
    /// Whether the stream has received the event `listening`.
    var hasListened = false

    /// Delivers an event. If a full buffer drops an old event, `reconnected` follows, so that the reader reads the
    /// state again.
    func yield(_ notification: Notification) {
        if case .dropped = continuation.yield(notification) { continuation.yield(.reconnected) }
    }
}

/// LISTEN, on a connection of its own. The session is opened for the first stream and closed with the last one.
extension Reactor {
    /// The time that the server may take to answer a LISTEN.
    static let listenLimit = Duration.seconds(10)

    func subscribe(_ id: UInt64, _ channel: String, _ continuation: AsyncStream<Notification>.Continuation) {
        subscribers[id] = Subscriber(channel: channel, continuation: continuation)
        guard listener.machine.isLive else { return }
        if channels.contains(channel) {
            subscribers[id]?.hasListened = true
            continuation.yield(.listening)
        } else {
            listen(channel)
        }
    }

    func unsubscribe(_ id: UInt64) {
        guard let channel = subscribers.removeValue(forKey: id)?.channel else { return }
        guard !subscribers.isEmpty else { return listener.lose(.broken, at: now) }
        guard !subscribers.values.contains(where: { $0.channel == channel }) else { return }
        channels.remove(channel)
        if listener.machine.isAccepting { submit("UNLISTEN", channel, .unlisten) }
    }

    /// Opens the session of the listener when it is needed.
    func maintainListener(at time: Duration) {
        if !listener.machine.isLive { channels = [] }
        guard !subscribers.isEmpty else { return }
        start(listener, at: time)
    }

    /// Sends a LISTEN for each channel of the streams, in a new session.
    func listenToAll() {
        channels = []
        for channel in Set(subscribers.values.map(\.channel)) { listen(channel) }
    }

    private func listen(_ channel: String) { submit("LISTEN", channel, .listen(channel)) }

    private func submit(_ verb: String, _ channel: String, _ receiver: Submission.Receiver) {
        // The name of a channel is an identifier, which cannot be a parameter.
        let name = "\"" + channel.replacing("\"", with: "\"\"") + "\""
        guard let statement = try? EncodedStatement(Statement("\(verb) \(name)")) else { return }
        let submission = Submission(
            id: mailbox.nextNumber(), role: .group, statements: [statement],
            deadline: .now + Reactor.listenLimit, receiver: receiver)
        let request = Request(submission, deadline: submission.deadline - origin)
        requests[request.id] = request
        listener.submit(request, at: now)
    }

    func finishListen(_ channel: String, _ result: Result<[Rows], PostgresError>) {
        guard case .success = result else { return listener.lose(.broken, at: now) }
        channels.insert(channel)
        for (id, subscriber) in subscribers where subscriber.channel == channel {
            subscriber.yield(subscriber.hasListened ? .reconnected : .listening)
            subscribers[id]?.hasListened = true
        }
    }

    func deliverNotifications() {
        let notifications = listener.notifications
        // Through a pooler, a shared connection also receives notifications, for a LISTEN of another client.
        for connection in all { connection.notifications = [] }
        for (channel, payload) in notifications {
            for subscriber in subscribers.values where subscriber.channel == channel && subscriber.hasListened {
                subscriber.yield(.payload(payload))
            }
        }
    }
}
#endif
