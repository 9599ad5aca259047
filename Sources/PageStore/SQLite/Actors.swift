import Dispatch
import PageModel

/// The connection that writes, on a queue of its own, so that blocking C never runs on Swift's cooperative pool.
actor WriterActor {
    private let executor = QueueExecutor(label: "pagecache.writer")
    private var session: Session?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the connection, once.
    func open(_ make: @Sendable () throws(StorageError) -> Session) throws(StorageError) {
        session = try make()
    }

    /// Runs `body` on the connection's queue.
    func run<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        guard let session else { throw StorageError(.closed, "the store is closed") }
        return try body(session)
    }

    /// Runs `body` on the calling thread, in turn with everything else on the connection's queue.
    nonisolated func runOnThisThread<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let result: Result<Value, StorageError> = executor.queue.sync {
            assumeIsolated { writer in
                do throws(StorageError) {
                    return .success(try writer.run(body))
                } catch {
                    return .failure(error)
                }
            }
        }
        return try result.get()
    }

    /// Closes the connection; whoever comes later is told that the store is closed. What was read meanwhile is noted
    /// first, if that can be done.
    func close() {
        if let session { try? session.noteReads(force: true) }
        session = nil
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
