import Dispatch
import PageModel
import Synchronization

/// The connection that writes; for asynchronous callers on a queue of its own, so that blocking C never runs on Swift's
/// cooperative pool.
///
/// Mutable state: the session, under a mutex: whoever may block takes it where they are, and needs no queue for it.
actor WriterActor {
    private let executor = QueueExecutor(label: "pagecache.writer")
    private nonisolated let session = Mutex<Session?>(nil)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the connection, once.
    func open(_ make: @Sendable () throws(StorageError) -> Session) throws(StorageError) {
        try session.withLock { session throws(StorageError) in session = try make() }
    }

    /// Runs `body` on the queue.
    func run<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try runOnThisThread(body)
    }

    /// Runs `body` on the calling thread, in turn with everybody else who writes.
    nonisolated func runOnThisThread<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try session.withLock { session throws(StorageError) in
            guard let session else { throw StorageError(.closed, "the store is closed") }
            return try body(session)
        }
    }

    /// Closes the connection; later calls throw `closed`. First notes which pages were read, if that can be done.
    func close() {
        session.withLock { session in
            if let session {
                try? session.noteReads(force: true)
                session.resumePurges()
            }
            session = nil
        }
    }
}

/// A queue on which asynchronous reads run.
actor ReaderActor {
    private let executor = QueueExecutor(label: "pagecache.reader")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try body()
    }
}

/// Runs an actor's jobs on a serial dispatch queue. (`DispatchSerialQueue` is itself an executor on Apple systems,
/// but does not exist on Linux.)
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

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
