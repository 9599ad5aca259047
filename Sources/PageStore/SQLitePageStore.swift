public import PageModel
import Synchronization

/// The SQLite implementation of `PageStorage`: a durable store of lists, shared by several processes.
///
/// One connection writes, on a queue of its own; other connections read. Readers do not wait for the writer, and the
/// writer does not wait for readers (R42). `synchronously` serves threads that may block.
public final class SQLitePageStore: PageStorage {
    /// The resolved path of the store file.
    public let path: String
    /// The path that the store was opened with.
    private let askedPath: String

    let options: Options
    /// The source of every stored time (R52).
    package let clock: any StorageClock
    /// The current time of the storage.
    var now: Timestamp { StorageMoment(clock).now }
    let isReadOnly: Bool
    let upkeep = ReaderActor()
    let writer = WriterActor()
    let pool: ReaderPool
    private let readers: [ReaderActor]
    private let turn = Atomic<Int>(0)
    let accesses: AccessLog
    let announcer: ChangeNotifier
    /// The identity of the file that was opened.
    let identity: FileIdentity
    /// The entry in `OpenStores`. Released once the connections are closed.
    let place: Mutex<OpenStore?>
    /// The folder of a store from `inMemory`. Removed once the connections are closed.
    let scratch = Mutex<ScratchFolder?>(nil)

    init(
        path: String, from askedPath: String, isReadOnly: Bool, options: Options, clock: any StorageClock,
        place: OpenStore
    ) {
        self.path = path
        self.askedPath = askedPath
        self.clock = clock
        self.place = Mutex(place)
        self.options = options
        self.isReadOnly = isReadOnly
        let identity = place.identity
        self.identity = identity
        accesses = AccessLog(openedAt: clock.now())
        pool = ReaderPool(count: options.readerCount) { () throws(StorageError) in
            try StoreOpening.openReader(path, identity, isReadOnly: isReadOnly, options: options)
        }
        readers = (0..<options.readerCount).map { _ in ReaderActor() }
        announcer = ChangeNotifier(store: path, isReadOnly: isReadOnly)
        announcer.knownQueries = { [pool] in
            (try? pool.read { connection throws(StorageError) in try QueryTable.ids(in: connection) }) ?? []
        }
    }

    deinit {
        announcer.close()
        // Readers close first, because the writer merges the log when it is the last connection.
        pool.close()
    }

    /// The version of the SQLite library that this process uses, such as "3.40.1".
    public static var sqliteVersion: String { Connection.libraryVersion }

    /// Closes the connections and ends the streams of notices. Later reads and writes throw `closed`. Merges the
    /// write-ahead log into the file, unless another object or process has the store open, the store is open for reading
    /// only, or an earlier merge failed.
    public func close() async {
        announcer.close()
        pool.close()
        await writer.close()
        place.withLock { $0 = nil }
        scratch.withLock { $0 = nil }
    }

    /// Whether the path that the store was opened with still leads to the file that was opened.
    ///
    /// Can be read after `close()`, too. Only then is it certain that all stored data is at this path, because closing
    /// merges the log.
    public var isInPlace: Bool { FileIdentity(path) == identity && (try? StoreFile.locate(askedPath)) == path }

    /// The link that the store was opened with, if the link now leads to another file although the store is still in
    /// its place. Otherwise `nil`.
    package var changedLink: String? { FileIdentity(path) == identity && !isInPlace ? askedPath : nil }

    /// Access to the store on the caller's own thread, for callers that may block.
    public var synchronously: SynchronousAccess {
        SynchronousAccess(pool: pool, accesses: accesses, writer: writer, isReadOnly: isReadOnly, clock: clock)
    }

    // MARK: Plumbing

    /// Runs `body` in a read transaction.
    /// - Parameter isBrief: whether `body` reads a few rows by their keys. Such a read runs on the calling thread when
    ///   a connection is free, because waking another thread would take longer (Decision 0002).
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
