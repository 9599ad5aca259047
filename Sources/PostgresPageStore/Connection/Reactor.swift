#if PostgreSQL
import CPostgres

import Synchronization

/// Distributes the requests of a pool among its connections, and sends and receives their bytes. One thread suffices,
/// because it waits only in `poll`. While the thread waits, a task that submits a request sends the request without
/// waking the thread.
///
/// Mutable state: everything, under `lock`. The thread holds the lock except in `poll`. The connections end first, then
/// the pipe of the mailbox. `@unchecked` because the compiler cannot check that the lock guards the state.
final class Reactor: @unchecked Sendable {
    struct Configuration: Sendable {
        let info: ConnectionInfo
        let options: PostgresPool.Options
    }

    let mailbox: Mailbox
    let stop: StopSignal
    let configuration: Configuration
    let origin = ContinuousClock.now
    private let lock = Mutex(())
    /// The timer and the sockets that `poll` waits for.
    private var armed = Armed()
    /// The shared connections.
    let connections: [PostgresConnection]
    /// The connection of all LISTENs.
    let listener: PostgresConnection
    let all: [PostgresConnection]
    var subscribers: [UInt64: Subscriber] = [:]
    /// The channels that the listener's session listens to.
    var channels: Set<String> = []
    var requests: [Submission.ID: Request] = [:]
    /// Requests that wait for a connection.
    var groups = Fifo<Request>()
    /// The first steps of transactions that wait for a connection of their own.
    var transactions = Fifo<Request>()
    var pins: [TransactionID: Pin] = [:]
    /// A lower bound of the deadlines of the queued requests.
    var queueTimer: Duration?
    var closers: [CheckedContinuation<Void, Never>] = []
    var closeBy: Duration?
    var sideThreads = 0
    /// The time at which the last attempt to open a connection began.
    var growthBegan = Duration.zero

    private struct Armed: Equatable {
        struct Socket: Equatable {
            let descriptor: Int32
            let isWriting: Bool
        }

        /// `nil` means that no timer is armed.
        var timer: Duration?
        var sockets: [Socket] = []
    }

    /// The connection and the session of a transaction.
    struct Pin {
        let connection: Int
        let session: Int
    }

    /// The longest time that `close` waits for side threads, which may be resolving a host name.
    static let closeLimit = Duration.seconds(2)
    /// The longest time that requests wait for a new connection while other connections are open and answer.
    static let growthLimit = Duration.milliseconds(100)
    /// The most times that a request is sent again because its named statements were missing or outdated.
    static let mostRepetitions = 3

    init(_ configuration: Configuration, mailbox: Mailbox, stop: StopSignal) {
        self.configuration = configuration
        self.mailbox = mailbox
        self.stop = stop
        let limits = configuration.options.limits
        let count = max(1, configuration.options.connections)
        connections = (0..<count).map { PostgresConnection(index: $0, info: configuration.info, limits: limits) }
        listener = PostgresConnection(index: count, info: configuration.info, limits: limits)
        all = connections + [listener]
        for connection in all {
            connection.onCancel = { [unowned self, unowned connection] in self.cancel($0, of: connection) }
        }
    }

    var now: Duration { ContinuousClock.now - origin }

    // MARK: The loop

    func run() {
        var items: [CLibrary.PollItem] = []
        var polled: [PostgresConnection] = []
        while true {
            let timeout = lock.withLock { _ -> Duration?? in prepare(&items, &polled) }
            guard let timeout else { break }
            CLibrary.wait(&items, timeout: timeout)
            lock.withLock { _ in process(items, polled) }
        }
        lock.withLock { _ in finish() }
    }

    /// Handles the commands and prepares a `poll`.
    /// - Returns: the timeout of the `poll`, where the inner nil means no timeout. Returns the outer nil when the pool
    ///   is closed.
    private func prepare(_ items: inout [CLibrary.PollItem], _ polled: inout [PostgresConnection]) -> Duration?? {
        for command in mailbox.take() { handle(command) }
        let time = now
        drainOutcomes(at: time)
        if let closeBy, sideThreads == 0 || closeBy <= time { return nil }
        items.removeAll(keepingCapacity: true)
        polled.removeAll(keepingCapacity: true)
        items.append(CLibrary.pollItem(mailbox.descriptor, read: true, write: false))
        for connection in all {
            guard let descriptor = connection.descriptor else { continue }
            let interest = connection.machine.interest
            items.append(CLibrary.pollItem(descriptor, read: interest.read, write: interest.write))
            polled.append(connection)
        }
        var timer = nextTimer(at: time)
        // A timer that is still armed stays armed, although its request is complete. Otherwise each request of an idle
        // pool would have to wake the thread for its own deadline.
        if let last = armed.timer, last > time { timer = min(timer ?? last, last) }
        armed = Armed(timer: timer, sockets: sockets)
        guard mailbox.sleep() else { return .some(.zero) }
        return .some(timer.map { max(.zero, $0 - now) })
    }

    private func process(_ items: [CLibrary.PollItem], _ polled: [PostgresConnection]) {
        if CLibrary.hasEvents(items[0]) { CLibrary.drain(mailbox.descriptor) }
        let time = now
        for (item, connection) in zip(items.dropFirst(), polled) where CLibrary.hasEvents(item) {
            connection.isReady(read: CLibrary.isReadable(item), at: time)
        }
    }

    /// Handles the commands on the calling thread while the reactor's thread waits in `poll`. This saves a change of
    /// threads for each request. The method does not wait.
    func handleCommandsInPlace() {
        let mustWake = lock.withLockIfAvailable { _ -> Bool in
            repeat {
                for command in mailbox.take() { handle(command) }
                drainOutcomes(at: now)
            } while !mailbox.sleep()
            let next = nextTimer(at: now)
            let isEarlier = next.map { next in armed.timer.map { next < $0 } ?? true } ?? false
            return closeBy != nil || isEarlier || armed.sockets != sockets
        }
        // If the lock was not available, the thread is about to wait, or has just waited. It may not see the commands,
        // so it is woken.
        if mustWake != false { mailbox.wake() }
    }

    private var sockets: [Armed.Socket] {
        all.compactMap { connection in
            connection.descriptor.map { Armed.Socket(descriptor: $0, isWriting: connection.machine.interest.write) }
        }
    }

    /// Carries out the outcomes of the last events, and the outcomes that follow from these, until none is left.
    private func drainOutcomes(at time: Duration) {
        expireQueued(at: time)
        for connection in all where connection.machine.nextTimer.map({ $0 <= time }) == true {
            connection.timePassed(time)
        }
        repeat {
            carryOutOutcomes(at: time)
            dispatch(at: time)
            maintainListener(at: time)
            for connection in all { connection.flush(at: time) }
        } while all.contains { !$0.outcomes.isEmpty }
        deliverNotifications()
    }

    private func nextTimer(at time: Duration) -> Duration? {
        var timers = all.compactMap(\.machine.nextTimer)
        if let queueTimer { timers.append(queueTimer) }
        if let closeBy { timers.append(closeBy) }
        if !(groups.isEmpty && transactions.isEmpty) {
            if connections.contains(where: \.machine.isConnecting) {
                let end = growthBegan + Reactor.growthLimit
                if end > time { timers.append(end) }
            } else if let gate = connectGate, gate > time {
                timers.append(gate)
            }
        }
        if !subscribers.isEmpty, let earliest = listener.machine.earliestConnect { timers.append(earliest) }
        return timers.min()
    }

    private func handle(_ command: Command) {
        switch command {
        case .submit(let submission): enqueue(submission)
        case .cancel(let id): cancel(id)
        case .release(let id): release(id)
        case .connected(let index, let result):
            sideThreads -= 1
            connected(index, result)
        case .cancelReturned(let index, let session):
            sideThreads -= 1
            connection(index).cancelReturned(session: session, at: now)
        case .subscribe(let id, let channel, let continuation): subscribe(id, channel, continuation)
        case .unsubscribe(let id): unsubscribe(id)
        case .close(let closer): close(closer)
        }
    }

    func connection(_ index: Int) -> PostgresConnection {
        index < connections.count ? connections[index] : listener
    }
}
#endif
