import Dispatch
import PageModel

/// A connection on a queue of its own, so that blocking C never runs on Swift's cooperative pool.
actor DatabaseActor {
    private let executor: QueueExecutor
    private var session: Session?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(label: String) {
        executor = QueueExecutor(label: label)
    }

    /// Opens the connection, once.
    func open(_ make: @Sendable () throws(StorageError) -> Connection) throws(StorageError) {
        session = Session(connection: try make())
    }

    /// Runs `body` on the connection's queue.
    func run<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        guard let session else { throw StorageError(.internal, "the store is closed") }
        return try body(session)
    }

    /// Closes the connection; whoever comes later is told that the store is closed.
    func close() {
        session = nil
    }
}

/// A connection and what is remembered about the store between its transactions. Belongs to the connection's queue.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private var ownerLock: OwnerLock?

    /// Who this connection is in leases; made when it first takes one, so that reading a store writes nothing.
    func owner() throws(StorageError) -> OwnerLock {
        if let ownerLock { return ownerLock }
        let made = try OwnerLock(store: connection.path)
        ownerLock = made
        return made
    }

    init(connection: Connection) {
        self.connection = connection
    }
}

/// Runs an actor's jobs on a serial dispatch queue. (`DispatchSerialQueue` is itself an executor on Apple systems,
/// but does not exist on Linux.)
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
