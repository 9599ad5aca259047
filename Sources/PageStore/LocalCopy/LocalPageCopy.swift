package import PageModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A local copy of bodies that a store on a server holds (Decision 0022). The copy is a cache: each body is served only
/// if it matches the server's row, and the file may be removed at any time.
///
/// State: the file, the time of its last check, the end of the pause after a full disk, and the purged queries. The
/// mutex guards all of it. A short read runs on the calling thread if the mutex is free and the file is open. All other
/// work runs on a queue, because it may wait for the disk.
package final class LocalPageCopy: Sendable {
    /// The size and the use of a copy.
    package struct Status: Sendable {
        package var bytes: Int
        /// The reason why the copy is not used; `nil` while it is used.
        package var problem: StorageError?
    }

    private enum State {
        case unopened
        case open(LocalCopyFile)
        /// The file cannot be used. The next call after `until`, in nanoseconds of the monotonic clock, opens it again.
        case failed(StorageError, until: UInt64)
        case closed
    }

    package let path: String
    private let bound: Int
    private let store: UInt64
    private let fileSystem: String?
    private let mutex = Mutex(())
    // `Mutex` would send the state out of the caller's region at every use. The state never leaves this file.
    private nonisolated(unsafe) var state = State.unopened
    private nonisolated(unsafe) var checkedAt: UInt64 = 0
    private nonisolated(unsafe) var fullUntil: UInt64 = 0
    private nonisolated(unsafe) var purged: Set<Int64> = []
    private let queue = CopyQueue()
    /// The bytes that wait for the queue.
    private let pending = Atomic<Int>(0)

    /// The pause before a file that failed is opened again, in nanoseconds: 10 seconds.
    private static let pause: UInt64 = 10_000_000_000
    private static let checkInterval: UInt64 = 100_000_000
    private static let mostPending = 16 << 20
    /// The number of items that can be read in the time that waking a thread takes.
    private static let brief = 256
    /// With one processor, one thread runs all tasks, and it must not wait for the disk.
    private static let mayReadAtOnce = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    /// - Parameters:
    ///   - path: the path of the file. Missing directories are created with mode 0700, the file with mode 0600.
    ///   - bound: the largest size of the file in bytes.
    ///   - store: the number that identifies the store on the server.
    ///   - fileSystem: the name of a SQLite VFS. Defaults to nil, which means SQLite's default VFS.
    package init(at path: String, bound: Int, store: UInt64, fileSystem: String? = nil) {
        (self.path, self.bound, self.store, self.fileSystem) = (path, bound, store, fileSystem)
    }

    // MARK: Reading

    /// Returns the items of pages, with nil for each page whose items are missing. Returns nil instead of an array if
    /// the read would have to wait, if the file is not open, or if the pages have more than 256 items.
    package func contentsAtOnce(of rows: [PageRow], in query: QueryID) -> [PageContent?]? {
        guard LocalPageCopy.mayReadAtOnce, rows.reduce(0, { $0 + $1.summary.count }) <= LocalPageCopy.brief else {
            return nil
        }
        let found: [PageContent?]?? = mutex.withLockIfAvailable { _ in
            guard case .open = state, Watchdog.now() &- checkedAt < LocalPageCopy.checkInterval else { return nil }
            return read(rows, in: query)
        }
        return found ?? nil
    }

    /// Returns the items of pages, with nil for each page whose items are missing.
    package func contents(of rows: [PageRow], in query: QueryID) async -> [PageContent?] {
        if let found = contentsAtOnce(of: rows, in: query) { return found }
        return await onQueue { copy in copy.read(rows, in: query) }
    }

    private func read(_ rows: [PageRow], in query: QueryID) -> [PageContent?] {
        var contents = [PageContent?](repeating: nil, count: rows.count)
        withFile { file throws(StorageError) in
            for (index, row) in rows.enumerated() { contents[index] = try file.content(of: row, in: query) }
        }
        return contents
    }

    // MARK: Writing

    /// Stores bodies that were read from the server, and returns before they are stored. Drops them if more than 16 MiB
    /// of bodies would then wait to be stored.
    package func store(_ pages: [(row: PageRow, content: PageContent)], of query: QueryID) {
        let bytes = pages.reduce(0) { $0 + $1.row.bytes }
        guard !pages.isEmpty, pending.load(ordering: .relaxed) + bytes <= LocalPageCopy.mostPending else { return }
        pending.add(bytes, ordering: .relaxed)
        Task {
            await onQueue { copy in
                // A copy of a list that was purged meanwhile would never be removed.
                guard !copy.purged.contains(query.rawValue), Watchdog.now() >= copy.fullUntil else { return }
                copy.withFile { file throws(StorageError) in try file.store(pages, of: query) }
            }
            pending.subtract(bytes, ordering: .relaxed)
        }
    }

    /// Waits until the bodies of all earlier calls of `store` are stored or dropped. For tests and measurements.
    package func waitUntilStored() async {
        while pending.load(ordering: .relaxed) > 0 { await Task.yield() }
    }

    /// Removes the bodies of queries from the file and its log.
    package func purge(_ queries: [QueryID]) async {
        let numbers = queries.map(\.rawValue)
        await onQueue { copy in
            if copy.purged.count > 65_536 { copy.purged = [] }
            copy.purged.formUnion(numbers)
            copy.withFile(despitePause: true) { file throws(StorageError) in
                try LocalPageCopy.purge(numbers, from: file)
            }
        }
    }

    private static func purge(_ numbers: [Int64], from file: LocalCopyFile) throws(StorageError) {
        do throws(StorageError) {
            try file.purge(numbers)
        } catch {
            // Purged bytes must not stay. The code `damaged` makes the caller remove the whole file.
            throw StorageError(.damaged, "purged bytes could not be overwritten", cause: error)
        }
    }

    /// Returns the queries with bodies in the file.
    package func queries() async -> Set<Int64> {
        await onQueue { copy in
            var found: Set<Int64> = []
            copy.withFile { file throws(StorageError) in found = file.queries }
            return found
        }
    }

    package func status() async -> Status {
        await onQueue { copy in
            var bytes = 0
            copy.withFile { file throws(StorageError) in bytes = file.bytes }
            if case .failed(let error, _) = copy.state { return Status(bytes: 0, problem: error) }
            return Status(bytes: bytes, problem: nil)
        }
    }

    package func close() async { await onQueue { copy in copy.state = .closed } }

    // MARK: The file

    private func onQueue<Value: Sendable>(_ body: @Sendable (LocalPageCopy) -> Value) async -> Value {
        await queue.run { self.mutex.withLock { _ in body(self) } }
    }

    /// Opens the file if necessary, and runs `body` with it. After an error, `failed` decides: it pauses stores to a
    /// full file, removes a damaged file, and otherwise pauses the copy. The caller holds the mutex.
    /// - Parameter despitePause: whether a file that failed is opened again at once. Defaults to false.
    private func withFile(despitePause: Bool = false, _ body: (LocalCopyFile) throws(StorageError) -> Void) {
        let now = Watchdog.now()
        checkPlace(now)
        switch state {
        case .closed: return
        case .failed(_, let until) where now < until && !despitePause: return
        case .unopened, .failed: open(now)
        case .open: break
        }
        guard case .open(let file) = state else { return }
        do throws(StorageError) {
            try body(file)
        } catch {
            failed(error, now)
        }
    }

    /// Closes the connection to a file that was removed or replaced, before the file now at the path is opened.
    private func checkPlace(_ now: UInt64) {
        guard case .open(let file) = state, now &- checkedAt >= LocalPageCopy.checkInterval else { return }
        checkedAt = now
        guard file.hasMoved else { return }
        // The log at this path may belong to another file now.
        file.abandon()
        state = .unopened
    }

    private func open(_ now: UInt64, isAgain: Bool = false) {
        state = .unopened
        checkedAt = now
        do throws(StorageError) {
            let file = try StoreFile.place(path)
            let identity = FileIdentity(file)
            do throws(StorageError) {
                let opened = try LocalCopyFile(at: file, bound: bound, store: store, fileSystem: fileSystem)
                // The file may hold lists that were purged while it could not be used.
                try LocalPageCopy.purge(Array(purged), from: opened)
                state = .open(opened)
            } catch {
                // Another file may have taken the place of the damaged one.
                guard error.code == .damaged, !isAgain, FileIdentity(file) == identity else { throw error }
                remove(file)
                open(now, isAgain: true)
            }
        } catch {
            state = .failed(error, until: now + LocalPageCopy.pause)
        }
    }

    private func failed(_ error: StorageError, _ now: UInt64) {
        switch error.code {
        case .full:
            // The bodies in the file can still be read.
            fullUntil = now + LocalPageCopy.pause
        case .damaged:
            // A damaged copy is useless, and another one is made at the next use. Only this object has the file open.
            var hasMoved = true
            if case .open(let file) = state {
                hasMoved = file.hasMoved
                file.abandon()
            }
            state = .unopened
            // Another file may have taken its place.
            if !hasMoved, let file = try? StoreFile.place(path) { remove(file) }
        default:
            state = .failed(error, until: now + LocalPageCopy.pause)
        }
    }

    private func remove(_ file: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(file + suffix) }
    }
}

/// Runs the work of a copy on a thread of its own.
private actor CopyQueue {
    private let executor = QueueExecutor(label: "pagecache.copy")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () -> Value) -> Value { body() }
}
