public import PageModel
import Synchronization

/// The SQLite implementation of `PageStorage`: durable truth about lists, shared by several processes.
///
/// One connection writes, on a queue of its own; others read. Readers never wait for the writer, nor the writer for
/// readers (R42). For threads that may block there is `synchronously`.
public final class PageStore: PageStorage {
    /// What to do when there is no store at the path, and what will be done with it.
    public enum Mode: Hashable, Sendable {
        /// Make one, with the directories that are missing.
        case createIfMissing
        /// Throw `StorageError.Code.notFound`.
        case mustExist
        /// Throw `notFound`, and change nothing, not even the file's log: for stores that may not be written, and for
        /// looking without touching. Writing throws `permission`.
        case readOnly
    }

    /// Settings of a store; the defaults are right for almost everybody.
    public struct Options: Hashable, Sendable {
        /// How long a commit waits for another process's commit before it throws `busy`. Default: 5 seconds.
        public var busyBudget: Duration = .seconds(5)
        /// What a commit survives. Default: `normal`.
        public var durability: Durability = .normal
        /// How many reads can run at the same time, 1 or more; each takes a connection of its own once it is needed.
        /// Default: 4.
        public var readers: Int = 4
        /// How long one transaction may compute before it throws `tookTooLong`: what a damaged or crafted file could do
        /// for ever (R46). Default: 60 seconds.
        public var timeLimit: Duration = .seconds(60)
        /// The SQLite VFS to use; nil for the default one. Tests put faults under a store with it.
        package var fileSystem: String?
        /// Never waits for the disk: what the power-loss test must catch.
        package var isUnsafe = false
        /// After how many pages of 4 KiB the log is merged into the file.
        package var checkpointPages = 1_000

        public init() {}
    }

    /// What a commit survives, once it has returned (https://www.sqlite.org/pragma.html#pragma_synchronous).
    public enum Durability: String, Hashable, Sendable {
        /// The end of the process, always. After a power loss the newest commits may be missing; the store is sound.
        case normal = "NORMAL"
        /// A power loss too, at the cost of a sync per commit.
        case full = "FULL"
    }

    /// The resolved path of the store file.
    public let path: String

    let options: Options
    let isReadOnly: Bool
    let upkeep = ReaderActor()
    private let writer = WriterActor()
    private let pool: ReaderPool
    private let readers: [ReaderActor]
    private let turn = Atomic<Int>(0)
    private let accesses: AccessLog
    private let announcer: Announcer
    /// Given up once the connections are closed.
    private let place: Mutex<OpenStore?>

    private init(path: String, isReadOnly: Bool, options: Options, now: Timestamp, place: OpenStore) {
        self.path = path
        self.place = Mutex(place)
        self.options = options
        self.isReadOnly = isReadOnly
        accesses = AccessLog(openedAt: now)
        pool = ReaderPool(count: options.readers) { () throws(StorageError) in
            try StoreOpening.openReader(path, isReadOnly: isReadOnly, options: options)
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
    /// - Parameter now: the moment that migrations are recorded with.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `permission`, `notAStore`, `newerSchema`, `damaged`,
    ///   `inputOutput`, `full` or `busy`.
    public static func open(
        at path: String, mode: Mode = .createIfMissing, options: Options = Options(), now: Timestamp
    ) async throws(StorageError) -> PageStore {
        let file = mode == .createIfMissing ? try StoreFile.locateOrCreate(path) : try StoreFile.locate(path)
        // Refused here, if it is not one of ours, before SQLite touches it.
        let place = try OpenStore(file) { () throws(StorageError) in
            guard try StoreFile.kind(of: file) == .blank else { return }
            guard mode != .readOnly else { throw StorageError(.notFound, "\(file) is an empty file") }
            StoreFile.makePrivate(file)
        }
        let store = PageStore(path: file, isReadOnly: mode == .readOnly, options: options, now: now, place: place)
        if mode == .readOnly {
            // The first reader checks the file.
            try await store.read { _ throws(StorageError) in }
        } else {
            try await store.openWriter(now: now)
        }
        return store
    }

    private func openWriter(now: Timestamp) async throws(StorageError) {
        let (path, options, accesses, announcer) = (path, options, accesses, announcer)
        try await writer.open { () throws(StorageError) in
            Session(
                connection: try StoreOpening.openWriter(path, options: options, now: now), accesses: accesses,
                announce: { announcer.announce($0) })
        }
    }

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

    // MARK: Reading

    public func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        try await read(isBrief: true) { reading throws(StorageError) in try QueryTable.find(key, in: reading.connection) }
    }

    public func records() async throws(StorageError) -> [QueryRecord] {
        try await read { reading throws(StorageError) in try QueryTable.all(in: reading.connection) }
    }

    public func summaries() async throws(StorageError) -> [QuerySummary] {
        try await read { reading throws(StorageError) in try reading.summaries() }
    }

    /// How many queries have a record that is damaged: `summaries` leaves them out, `verify` says which, `repair` mends them.
    public func damagedQueries() async throws(StorageError) -> Int {
        try await read { reading throws(StorageError) in
            var count = 0
            _ = try QueryTable.all(in: reading.connection) { _ in count += 1 }
            return count
        }
    }

    public func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try await read { reading throws(StorageError) in try reading.outline(of: query) }
    }

    public func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await read(isBrief: isBrief(range)) { reading throws(StorageError) in try reading.excerpt(of: query, range) }
    }

    public func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await read(isBrief: isBrief(range)) { reading throws(StorageError) in try reading.window(of: query, range) }
    }

    /// The page that starts at `offset`, with its items; nil when none does, or when its bytes are damaged.
    public func page(at offset: Int, of query: QueryID) async throws(StorageError) -> StoredPage? {
        try await read(isBrief: true) { reading throws(StorageError) in try reading.page(at: offset, of: query) }
    }

    public func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await read { reading throws(StorageError) in try reading.locate(keys, in: query) }
    }

    public func due(before moment: Timestamp, limit: Int) async throws(StorageError) -> [DueFetch] {
        try await read { reading throws(StorageError) in
            try LedgerTable.due(before: moment, limit: limit, in: reading.connection)
        }
    }

    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        announcer.notices(of: query)
    }

    public var observedQueries: Set<QueryID> { announcer.hub.observedQueries }

    // MARK: Writing

    public func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        // Known ones are the rule, and need no write lock.
        if let known = try await query(key) { return known }
        return try await write(at: now) { session throws(StorageError) in
            let (record, isNew) = try QueryTable.register(key, at: now, in: session.connection)
            if isNew { session.note(ChangeSet(query: record.id, version: record.version, changes: [.registered])) }
            return record
        }
    }

    public func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        try await withWriter { session throws(StorageError) in try CommitTransaction.apply(plan, in: session) }
    }

    public func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await withWriter { session throws(StorageError) in
            try LedgerWriting.claim(offsets, of: query, until: expiry, at: now, in: session)
        }
    }

    public func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        try await withWriter { session throws(StorageError) in
            try LedgerWriting.record(edits, for: query, at: now, in: session)
        }
    }

    public func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await write(at: nil) { session throws(StorageError) in
            guard var record = try QueryTable.find(query, in: session.connection), record.isPinned != isPinned else { return }
            record.isPinned = isPinned
            try QueryTable.save(record, in: session.connection)
            session.note(ChangeSet(query: query, version: record.version, changes: [.described]))
        }
    }

    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try await withWriter { session throws(StorageError) in try Purge.run(queries, in: session) }
    }

    /// Removes everything, and closes the store if that took emptying its file. On a full disk, where nothing can be deleted any more because deleting writes, the file is
    /// emptied instead; that needs the store for itself.
    /// - Throws: `full` when the disk is full and another process has the store open.
    public func purgeAll(at now: Timestamp) async throws(StorageError) -> PurgeReport {
        guard !isReadOnly else { throw StorageError(.permission, "\(path) is open for reading only") }
        let queries = try await read { reading throws(StorageError) in try QueryTable.ids(in: reading.connection) }
        do throws(StorageError) {
            return try await purge(queries)
        } catch {
            guard error.code == .full || error.code == .damaged else { throw error }
            return try await recreate(removing: queries, at: now, because: error)
        }
    }

    public func evict(
        to budget: EvictionBudget, exempt: Set<QueryID>, at now: Timestamp
    ) async throws(StorageError) -> EvictionReport {
        let exempt = exempt.union(announcer.hub.observedQueries)
        var eviction = try await withWriter { session throws(StorageError) in
            try session.noteReads(at: now, force: true)
            return try Eviction(budget, exempt: exempt, at: now, in: session.connection)
        }
        // In portions: nobody waits for the lock for longer than one of them takes.
        while let portion = eviction.next() {
            let removed = try await withWriter { session throws(StorageError) in try Eviction.remove(portion, in: session) }
            eviction.removed(removed)
        }
        try await withWriter { session throws(StorageError) in try Purge.returnSpace(session.connection) }
        return eviction.report
    }

    // MARK: Plumbing

    /// So many items are read in the time that it takes to wake a thread.
    private func isBrief(_ range: Range<Int>) -> Bool { range.count <= 256 }

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

    private func write<Value: Sendable>(
        at now: Timestamp?, _ body: @Sendable (Session) throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await withWriter { session throws(StorageError) in
            try session.write(at: now) { () throws(StorageError) in try body(session) }
        }
    }

    private func recreate(
        removing queries: [QueryID], at now: Timestamp, because cause: StorageError
    ) async throws(StorageError) -> PurgeReport {
        pool.close()
        await writer.close()
        place.withLock { $0 = nil }
        let bytes = try Recreation.empty(path, because: cause)
        // An empty store rather than an empty file, if there is room for that much.
        _ = try? StoreOpening.openWriter(path, options: options, now: now)
        announcer.announce(queries.map { ChangeSet(query: $0, version: nil, changes: [.purged]) })
        return PurgeReport(queries: queries.count, pages: 0, bytes: bytes)
    }
}

/// A page with its items.
public struct StoredPage: Hashable, Sendable {
    public var summary: PageSummary
    public var content: PageContent
}
