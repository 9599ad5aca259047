import Dispatch
import PageModel
import Synchronization

/// Owns the connection that writes. Asynchronous callers run on a queue that belongs to this actor, so that blocking C
/// code never runs on Swift's cooperative pool.
///
/// Mutable state: the session, under a mutex. A thread that may block takes the mutex directly and needs no queue.
actor WriterActor {
    private let executor = QueueExecutor(label: "pagecache.writer")
    private nonisolated let session = Mutex<Session?>(nil)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the session. Call once.
    func open(_ make: @Sendable () throws(StorageError) -> Session) throws(StorageError) {
        try session.withLock { session throws(StorageError) in session = try make() }
    }

    /// Runs `body` on the queue.
    func run<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try runOnThisThread(body)
    }

    /// Runs `body` on the calling thread, after the writes that are under way.
    nonisolated func runOnThisThread<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try session.withLock { session throws(StorageError) in
            guard let session else { throw StorageError(.closed, "the store is closed") }
            return try body(session)
        }
    }

    /// Closes the connection; later calls throw `closed`. First stores the times of reads and resumes purges, if
    /// possible. The call waits for a write of another process for a tenth of a second at most, and not for the busy
    /// budget.
    func close() {
        session.withLock { session in
            if let session {
                session.noteLastReads()
                session.resumePurges()
            }
            session = nil
        }
    }
}

/// A queue for asynchronous reads.
actor ReaderActor {
    private let executor = QueueExecutor(label: "pagecache.reader")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try body()
    }
}

/// Runs an actor's jobs on a serial dispatch queue. `DispatchSerialQueue`, which is an executor on Apple systems, does
/// not exist on Linux.
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
