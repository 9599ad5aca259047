#if PostgreSQL
import CPostgres

import Synchronization

/// Shares the requests of a pool out among its connections, and moves their bytes. One thread suffices, because it never
/// waits for anything but `poll`. While it waits, a task that submits a request sends it without waking the thread.
///
/// Mutable state: everything, under `lock`. The thread holds the lock except in `poll`. The connections end first, then
/// the pipe of the mailbox. `@unchecked` because the compiler cannot see that rule.
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
    /// First steps of transactions that wait for a connection of their own.
    var transactions = Fifo<Request>()
    private var pins: [TransactionID: Pin] = [:]
    /// A lower bound of the deadlines of the queued requests.
    private var queueTimer: Duration?
    var closers: [CheckedContinuation<Void, Never>] = []
    var closeBy: Duration?
    var sideThreads = 0
    /// When the last attempt to open a connection began.
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
    private struct Pin {
        let connection: Int
        let session: Int
    }

    /// How long `close` waits for side threads, which may be resolving a host name.
    static let closeLimit = Duration.seconds(2)
    /// How long requests wait for a new connection while other connections are open.
    static let growthLimit = Duration.milliseconds(100)
    /// How often a request is sent again because its named statements were missing or outdated.
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
    /// - Returns: its timeout, where the inner nil means that there is none, or nil when the pool is closed.
    private func prepare(_ items: inout [CLibrary.PollItem], _ polled: inout [PostgresConnection]) -> Duration?? {
        for command in mailbox.take() { handle(command) }
        let time = now
        settle(at: time)
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
        // A timer that is still armed stays so, although its request is complete. Otherwise each request of an idle
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

    /// Handles the commands on the calling thread while the reactor's thread waits in `poll`. Saves a change of threads
    /// for each request. Nothing in here waits.
    func handleCommandsInPlace() {
        let mustWake = lock.withLockIfAvailable { _ -> Bool in
            repeat {
                for command in mailbox.take() { handle(command) }
                settle(at: now)
            } while !mailbox.sleep()
            let next = nextTimer(at: now)
            let isEarlier = next.map { next in armed.timer.map { next < $0 } ?? true } ?? false
            return closeBy != nil || isEarlier || armed.sockets != sockets
        }
        // Without the lock: the thread is about to wait, or has just waited. It may not see the commands.
        if mustWake != false { mailbox.wake() }
    }

    private var sockets: [Armed.Socket] {
        all.compactMap { connection in
            connection.descriptor.map { Armed.Socket(descriptor: $0, isWriting: connection.machine.interest.write) }
        }
    }

    /// Carries out what the last events caused, until nothing is left.
    private func settle(at time: Duration) {
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

    // MARK: Requests

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

    private func cancel(_ id: Submission.ID) {
        guard let request = requests[id] else { return }
        if dequeue({ $0 === request }) {
            complete(request, .interrupted(.cancelled, isOutcomeUnknown: false))
        } else if let index = request.connection {
            connection(index).interrupt(id, at: now)
        }
    }

    /// Removes a request that was not sent from its queue. Returns false if none has it.
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

    private func expireQueued(at time: Duration) {
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

    private func carryOutOutcomes(at time: Duration) {
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
        // New statements that fail in the same way are an error of the request itself.
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

    // MARK: Sharing out

    private func dispatch(at time: Duration) {
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
            if connection?.machine.load != 0, isGrowing(at: time) { break }
            guard let connection else { break }
            groups.removeFirst()
            connection.submit(request, at: time)
        }
        // One connection stays shared, if there are two.
        while let request = transactions.first, let id = request.transaction,
            pins.count < max(1, connections.count - 1)
        {
            let candidate = leastLoaded(at: time) { $0.owner == nil && $0.machine.isLive }
            if candidate?.machine.isDrained != true, isGrowing(at: time) { break }
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

    /// The connection with the fewest requests. One whose request has run for long comes last.
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

    private func release(_ id: TransactionID) {
        // The first step may still be queued when its task has given up.
        guard let pin = pins.removeValue(forKey: id) else { return }
        let connection = connections[pin.connection]
        guard connection.owner == id else { return }
        connection.owner = nil
        if connection.session == pin.session, connection.isInTransaction { connection.lose(.broken, at: now) }
    }
}
#endif
