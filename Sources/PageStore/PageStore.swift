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
    let isReadOnly: Bool
    let upkeep = ReaderActor()
    let writer = WriterActor()
    let pool: ReaderPool
    private let readers: [ReaderActor]
    private let turn = Atomic<Int>(0)
    let accesses: AccessLog
    let announcer: Announcer
    /// The file that was opened.
    let identity: FileIdentity
    /// Given up once the connections are closed.
    let place: Mutex<OpenStore?>

    private init(path: String, isReadOnly: Bool, options: Options, now: Timestamp, place: OpenStore) {
        self.path = path
        self.place = Mutex(place)
        self.options = options
        self.isReadOnly = isReadOnly
        let identity = place.identity
        self.identity = identity
        accesses = AccessLog(openedAt: now)
        pool = ReaderPool(count: options.readers) { () throws(StorageError) in
            try StoreOpening.openReader(path, identity, isReadOnly: isReadOnly, options: options)
        }
        readers = (0..<max(1, options.readers)).map { _ in ReaderActor() }
        announcer = Announcer(store: path, isReadOnly: isReadOnly)
        announcer.knownQueries = { [pool] in
            (try? pool.read { connection throws(StorageError) in try QueryTable.ids(in: connection) }) ?? []
        }
    }

    deinit {
        announcer.close()
        // Readers close first: the writer merges the log when it is the last one.
        pool.close()
    }

    /// Opens the store at `path`.
    ///
    /// A file that is not a store, or a store of a newer version, is refused and left untouched (R8).
    /// - Parameters:
    ///   - path: where the store is; a symbolic link of our own is followed (R9).
    ///   - mode: what to do when there is none. Default: make one.
    ///   - options: the settings. Default: the defaults.
    ///   - now: the moment that migrations are recorded with.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `permission`, `notAStore`, `newerSchema`, `damaged`,
    ///   `inputOutput`, `full` or `busy`.
    public static func open(
        at path: String, mode: Mode = .createIfMissing, options: Options = Options(), now: Timestamp
    ) async throws(StorageError) -> PageStore {
        let file = mode == .createIfMissing ? try StoreFile.place(path) : try StoreFile.locate(path)
        try StoreFile.checkCompanions(of: file)
        var attempts = 3
        while true {
            do throws(StorageError) {
                return try await open(file: file, mode, options, now)
            } catch {
                // Another process replaced the file meanwhile: the new one is to be opened.
                attempts -= 1
                guard error.code == .moved, attempts > 0 else { throw error }
            }
        }
    }

    private static func open(
        file: String, _ mode: Mode, _ options: Options, _ now: Timestamp
    ) async throws(StorageError) -> PageStore {
        // From here on the file is not replaced, until SQLite's own locks see to that.
        var gate = mode == .createIfMissing ? try await make(file, options) : nil
        // A file that is not ours is refused here, before anything is made beside it, and before SQLite touches it.
        let place = try OpenStore(file) { () throws(StorageError) in
            guard try StoreFile.kind(of: file) == .blank else { return }
            guard mode != .readOnly else { throw StorageError(.notFound, "\(file) is an empty file") }
            StoreFile.makePrivate(file)
        }
        if gate == nil, let made = StoreGate(file, makingFile: mode != .readOnly) {
            try await waiting(options.busyBudget, for: made) { made.lock(.shared) }
            gate = made
        }
        defer { withExtendedLifetime(gate) {} }
        guard FileIdentity(file) == place.identity else { throw .moved(file) }
        let store = PageStore(path: file, isReadOnly: mode == .readOnly, options: options, now: now, place: place)
        if mode == .readOnly {
            // The first reader checks the file.
            try await store.read { _ throws(StorageError) in }
        } else {
            try await store.openWriter(now: now)
        }
        return store
    }

    /// Makes the file where there is none.
    /// - Returns: the gate, shared; `nil` where there was a file.
    private static func make(_ file: String, _ options: Options) async throws(StorageError) -> StoreGate? {
        guard !StoreFile.exists(file) else { return nil }
        guard let gate = StoreGate(file, makingFile: true) else {
            try StoreFile.make(file)
            return nil
        }
        // Whoever makes the file first lets the others go on.
        try await waiting(options.busyBudget, for: gate) { StoreFile.exists(file) || gate.lock(.exclusive) }
        try StoreFile.make(file)
        try await waiting(options.busyBudget, for: gate) { gate.lock(.shared) }
        return gate
    }

    /// Tries again every two milliseconds, and lets other tasks run meanwhile.
    private static func waiting(_ budget: Duration, for gate: StoreGate, _ attempt: () -> Bool) async throws(StorageError) {
        let deadline = ContinuousClock.now + budget
        while !attempt() {
            guard ContinuousClock.now < deadline else { throw gate.isTaken }
            do { try await Task.sleep(for: .milliseconds(2)) } catch { throw gate.isTaken }
        }
    }

    private func openWriter(now: Timestamp) async throws(StorageError) {
        let (path, identity, options, accesses, announcer) = (path, identity, options, accesses, announcer)
        try await writer.open { () throws(StorageError) in
            let connection = try StoreOpening.openWriter(path, identity, options: options, now: now)
            return try Session(
                connection: connection, accesses: accesses, mergeBytes: options.checkpointBytes,
                openLocker: { () throws(StorageError) in try StoreOpening.openLocker(path, identity, options: options) },
                announce: { announcer.announce($0) })
        }
    }

    /// The version of the SQLite library that this process uses, such as "3.40.1".
    public static var sqliteVersion: String { Connection.libraryVersion }

    /// Closes the connections, and ends the streams of notices; the write-ahead log is merged into the file when this
    /// was the last process.
    public func close() async {
        announcer.close()
        pool.close()
        await writer.close()
        place.withLock { $0 = nil }
    }

    /// The store on the caller's own thread, for callers that may block it.
    public var synchronously: SynchronousAccess {
        SynchronousAccess(pool: pool, accesses: accesses, writer: writer, isReadOnly: isReadOnly)
    }

    // MARK: Plumbing

    /// - Parameter isBrief: whether it reads a few rows by their keys. Then it runs where it is asked for, if nobody has to be
    ///   waited for: waking another thread would take longer (Decision 0002).
    func read<Value: Sendable>(
        isBrief: Bool = false, _ body: @Sendable (StoreReading) throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let (pool, accesses) = (pool, accesses)
        if isBrief {
            let value = try pool.readAtOnce { connection throws(StorageError) in
                try body(StoreReading(connection: connection, accesses: accesses))
            }
            if let value { return value }
        }
        let number = turn.add(1, ordering: .relaxed).oldValue
        return try await readers[Int(UInt(bitPattern: number) % UInt(readers.count))].run { () throws(StorageError) in
            try pool.read { connection throws(StorageError) in
                try body(StoreReading(connection: connection, accesses: accesses))
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
