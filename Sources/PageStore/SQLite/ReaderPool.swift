import PageModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Connections that read, opened as they are needed. A read runs on the thread that asks for it, on the first
/// connection that is free.
///
/// State: whose turn it is to be waited for, and how many guests there are, each an atomic of its own; a connection is
/// its reader's, which has a mutex.
final class ReaderPool: Sendable {
    private let readers: [Reader]
    private let turn = Atomic<Int>(0)
    /// Reads that run on threads of Swift's pool.
    private let guests = Atomic<Int>(0)
    /// No more than half of the pool's threads, one a processor, are ever in a read: the others go on whatever the disk
    /// does.
    private static let mostGuests = max(0, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2)

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
        // All are busy: wait for one, each waiter for another one.
        let number = turn.add(1, ordering: .relaxed).oldValue
        return try readers[Int(UInt(bitPattern: number) % UInt(readers.count))].read(body)
    }

    /// Runs `body` at once, if that takes neither waiting for anybody nor opening a connection; nil otherwise. For
    /// short reads on threads that must not be blocked.
    func readAtOnce<Value: Sendable>(
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        defer { guests.subtract(1, ordering: .relaxed) }
        guard guests.add(1, ordering: .relaxed).oldValue < ReaderPool.mostGuests else { return nil }
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
/// Mutable state: the connection, opened at the first read and gone after `close`; touched only under the mutex.
private final class Reader: Sendable {
    private enum State {
        case unopened
        case open(Connection)
        case closed
    }

    private let mutex = Mutex(())
    // Because `Mutex` would have the state leave the caller's region at every use; it never leaves this file.
    private nonisolated(unsafe) var state = State.unopened
    // When the file was last found in its place, and how it is recognised; guarded like the state.
    private nonisolated(unsafe) var checkedAt: UInt64 = 0
    private nonisolated(unsafe) var stamp: StoreStamp?
    private let open: @Sendable () throws(StorageError) -> Connection

    /// How long a reader goes on with a file that has been replaced, in nanoseconds.
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
            guard case .open(let connection) = state else { return nil }
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
        case .open(let opened):
            connection = opened
        case .unopened:
            connection = try open()
            stamp = try StoreStamp(of: connection)
            state = .open(connection)
        case .closed:
            throw StorageError(.closed, "the store is closed")
        }
        try checkPlace(connection)
        return try connection.transaction(.read) { () throws(StorageError) in try body(connection) }
    }

    private func checkPlace(_ connection: Connection) throws(StorageError) {
        let now = Watchdog.now()
        guard now &- checkedAt >= Reader.checkInterval else { return }
        try connection.checkPlace()
        try stamp?.check(connection)
        checkedAt = now
    }
}
