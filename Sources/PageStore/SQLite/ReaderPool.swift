import PageModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Connections that read, opened on demand. A read runs on the calling thread, on the first free connection.
///
/// State: two atomics, the next connection to wait for, and the number of reads on threads of Swift's cooperative pool.
/// A mutex guards each connection.
final class ReaderPool: Sendable {
    private let readers: [Reader]
    private let turn = Atomic<Int>(0)
    /// The number of reads that run on threads of Swift's cooperative pool.
    private let cooperativeReads = Atomic<Int>(0)
    /// The largest number of these reads: half of the processors, rounded down. The cooperative pool has one thread per
    /// processor, so half of its threads never block on the disk.
    private static let mostCooperativeReads = max(0, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2)

    init(count: Int, open: @escaping @Sendable () throws(StorageError) -> Connection) {
        readers = (0..<max(1, count)).map { _ in Reader(open: open) }
    }

    /// Runs `body` in one read transaction (R2).
    func read<Value: Sendable>(
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        for reader in readers {
            if let value = try reader.tryRead(body) { return value }
        }
        // All connections are busy. Successive waiters wait for different connections.
        let number = turn.add(1, ordering: .relaxed).oldValue
        return try readers[Int(UInt(bitPattern: number) % UInt(readers.count))].read(body)
    }

    /// Runs `body` at once if a connection is open and free; otherwise returns nil. Never waits and never opens a
    /// connection. For short reads on threads that must not block.
    func readAtOnce<Value: Sendable>(
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        defer { cooperativeReads.subtract(1, ordering: .relaxed) }
        guard cooperativeReads.add(1, ordering: .relaxed).oldValue < ReaderPool.mostCooperativeReads else { return nil }
        for reader in readers {
            if let value = try reader.tryReadAtOnce(body) { return value }
        }
        return nil
    }

    func close() {
        for reader in readers { reader.close() }
    }
}

/// One reading connection.
///
/// Mutable state: the connection, which is opened at the first read and released by `close`. The mutex guards it.
private final class Reader: Sendable {
    private enum State {
        case unopened
        case open(Connection)
        case closed
    }

    private let mutex = Mutex(())
    // `Mutex` would send the state out of the caller's region at every use. The state never leaves this file.
    private nonisolated(unsafe) var state = State.unopened
    // The time of the last check of the file, and the stamp by which the check recognises the file. The mutex guards
    // both.
    private nonisolated(unsafe) var checkedAt: UInt64 = 0
    private nonisolated(unsafe) var stamp: StoreStamp?
    private let open: @Sendable () throws(StorageError) -> Connection

    /// The shortest time between two checks of the file, in nanoseconds. A reader may use a replaced file for that
    /// long.
    private static let checkInterval: UInt64 = 100_000_000

    init(open: @escaping @Sendable () throws(StorageError) -> Connection) {
        self.open = open
    }

    func tryRead<Value: Sendable>(
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        try mutex.withLockIfAvailable { _ throws(StorageError) in try locked(body) }
    }

    func tryReadAtOnce<Value: Sendable>(
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let value: Value?? = try mutex.withLockIfAvailable { _ throws(StorageError) in
            guard case .open(let connection) = state, connection.immutableState == nil else { return nil }
            try checkPlace(connection)
            return try connection.withoutWaiting { () throws(StorageError) in
                try connection.transaction(.read) { () throws(StorageError) in try body(connection) }
            }
        }
        return value ?? nil
    }

    func read<Value: Sendable>(_ body: (Connection) throws(StorageError) -> Value) throws(StorageError) -> Value {
        try mutex.withLock { _ throws(StorageError) in try locked(body) }
    }

    func close() {
        mutex.withLock { _ in state = .closed }
    }

    private func locked<Value>(_ body: (Connection) throws(StorageError) -> Value) throws(StorageError) -> Value {
        let connection: Connection
        switch state {
        case .open(let opened) where !opened.hasLostMoment:
            connection = opened
        case .unopened, .open:
            connection = try open()
            do throws(StorageError) {
                stamp = try StoreStamp(of: connection)
            } catch {
                throw connection.explained(error)
            }
            state = .open(connection)
        case .closed:
            throw StorageError(.closed, "the store is closed")
        }
        try checkPlace(connection)
        let began = Watchdog.now()
        do throws(StorageError) {
            let value = try connection.transaction(.read) { () throws(StorageError) in try body(connection) }
            try checkPlace(connection, after: began)
            return value
        } catch {
            try checkPlace(connection, after: began)
            throw error
        }
    }

    /// Checks the place once more after a read that took a millisecond or more. A process that opens a moved store at
    /// its new path does not see this transaction, and may overwrite the pages that the transaction reads.
    private func checkPlace(_ connection: Connection, after began: UInt64) throws(StorageError) {
        if connection.hasLostMoment {
            throw StorageError(
                .busy, "\(connection.path) was written while it was read without locks, through a read-only file system"
            )
        }
        guard Watchdog.now() &- began >= 1_000_000 else { return }
        do throws(StorageError) { try connection.checkPlace() } catch { throw connection.explained(error) }
    }

    private func checkPlace(_ connection: Connection) throws(StorageError) {
        let now = Watchdog.now()
        guard now &- checkedAt >= Reader.checkInterval else { return }
        do throws(StorageError) { try connection.checkPlace() } catch { throw connection.explained(error) }
        try stamp?.check(connection)
        checkedAt = now
    }
}
