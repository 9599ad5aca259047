public import PageModel
import Synchronization

/// The SQLite implementation of `PageStorage`: durable truth about lists, shared by several processes.
///
/// One connection writes, on a queue of its own; others read. Readers never wait for the writer, nor the writer for
/// readers (R42). For threads that may block there is `synchronously`.
public final class PageStore: PageStorage {
    /// The resolved path of the store file.
    public let path: String

    let options: Options
    /// What every stored time comes from (R52).
    package let clock: any StorageClock
    let isReadOnly: Bool
    let upkeep = ReaderActor()
    let writer = WriterActor()
    let pool: ReaderPool
    private let readers: [ReaderActor]
    private let turn = Atomic<Int>(0)
    let accesses: AccessLog
    let checkpointer: Checkpointer
    let announcer: Announcer
    /// Given up once the connections are closed.
    let place: Mutex<OpenStore?>

    private init(path: String, isReadOnly: Bool, options: Options, clock: any StorageClock, place: OpenStore) {
        self.path = path
        self.clock = clock
        self.place = Mutex(place)
        self.options = options
        self.isReadOnly = isReadOnly
        accesses = AccessLog(openedAt: clock.now())
        pool = ReaderPool(count: options.readers) { () throws(StorageError) in
            try StoreOpening.openReader(path, isReadOnly: isReadOnly, options: options)
        }
        checkpointer = Checkpointer(bytes: options.checkpointBytes, place: place) { () throws(StorageError) in
            try StoreOpening.openCheckpointer(path, options: options)
        }
        readers = (0..<max(1, options.readers)).map { _ in ReaderActor() }
        announcer = Announcer(store: path, isReadOnly: isReadOnly)
        announcer.knownQueries = { [pool] in
            (try? pool.read { connection throws(StorageError) in try QueryTable.ids(in: connection) }) ?? []
        }
    }

    deinit { announcer.close() }

    /// Opens the store at `path`.
    ///
    /// A file that is not a store, or a store of a newer version, is refused and left untouched (R8).
    /// - Parameters:
    ///   - path: where the store is; a symbolic link of our own is followed (R9).
    ///   - mode: what to do when there is none. Default: make one.
    ///   - options: the settings. Default: the defaults.
    ///   - clock: what every stored time comes from, and what leases end by (R52). Defaults to the system's.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `permission`, `notAStore`, `newerSchema`, `damaged`,
    ///   `inputOutput`, `full` or `busy`.
    public static func open(
        at path: String, mode: Mode = .createIfMissing, options: Options = Options(), clock: any StorageClock = SystemStorageClock()
    ) async throws(StorageError) -> PageStore {
        let file = mode == .createIfMissing ? try StoreFile.locateOrCreate(path) : try StoreFile.locate(path)
        // Refused here, if it is not one of ours, before SQLite touches it.
        let place = try OpenStore(file) { () throws(StorageError) in
            guard try StoreFile.kind(of: file) == .blank else { return }
            guard mode != .readOnly else { throw StorageError(.notFound, "\(file) is an empty file") }
            StoreFile.makePrivate(file)
        }
        let store = PageStore(path: file, isReadOnly: mode == .readOnly, options: options, clock: clock, place: place)
        if mode == .readOnly {
            // The first reader checks the file.
            try await store.read { _ throws(StorageError) in }
        } else {
            try await store.openWriter()
        }
        return store
    }

    private func openWriter() async throws(StorageError) {
        let (path, options, accesses, checkpointer, announcer, clock) = (path, options, accesses, checkpointer, announcer, clock)
        try await writer.open { () throws(StorageError) in
            let connection = try StoreOpening.openWriter(path, options: options, now: clock.now())
            let pageSize = Int(try connection.pragma("page_size"))
            connection.watchLog { checkpointer.logHasGrown(to: $0 * pageSize) }
            return Session(
                connection: connection, accesses: accesses, checkpointer: checkpointer, clock: clock,
                announce: { announcer.announce($0) })
        }
    }

    /// Closes the connections, and ends the streams of notices; the write-ahead log is merged into the file when this
    /// was the last process.
    public func close() async {
        announcer.close()
        pool.close()
        await writer.close(after: checkpointer)
        place.withLock { $0 = nil }
    }

    /// The store on the caller's own thread, for callers that may block it.
    public var synchronously: SynchronousAccess {
        SynchronousAccess(pool: pool, accesses: accesses, writer: writer, isReadOnly: isReadOnly, clock: clock)
    }

    // MARK: Plumbing

    /// - Parameter isBrief: whether it reads a few rows by their keys. Then it runs where it is asked for, if nobody has to be
    ///   waited for: waking another thread would take longer (Decision 0002).
    func read<Value: Sendable>(
        isBrief: Bool = false, _ body: @Sendable (StoreReading) throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let (pool, accesses, clock) = (pool, accesses, clock)
        if isBrief {
            let value = try pool.readAtOnce { connection throws(StorageError) in
                try body(StoreReading(connection: connection, accesses: accesses, clock: clock))
            }
            if let value { return value }
        }
        let number = turn.add(1, ordering: .relaxed).oldValue
        return try await readers[Int(UInt(bitPattern: number) % UInt(readers.count))].run { () throws(StorageError) in
            try pool.read { connection throws(StorageError) in
                try body(StoreReading(connection: connection, accesses: accesses, clock: clock))
            }
        }
    }

    func withWriter<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        guard !isReadOnly else { throw StorageError(.permission, "\(path) is open for reading only") }
        return try await writer.run(body)
    }
}
