import CSQLite
public import PageModel

/// The SQLite implementation of `PageStorage`: durable truth about lists, shared by several processes.
///
/// One connection writes, others read; readers never wait for the writer, nor the writer for readers (R42).
public final class PageStore: PageStorage {
    /// What to do when there is no store at the path.
    public enum Mode: Hashable, Sendable {
        /// Make one, with the directories that are missing.
        case createIfMissing
        /// Throw `StorageError.Code.notFound`.
        case mustExist
    }

    /// Settings of a store; the defaults are right for almost everybody.
    public struct Options: Hashable, Sendable {
        /// How long a commit waits for another process's commit before it throws `busy`. Default: 5 seconds.
        public var busyBudget: Duration = .seconds(5)
        /// What a commit survives. Default: `normal`.
        public var durability: Durability = .normal

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

    private let writer: DatabaseActor
    private let readers: [DatabaseActor]

    private init(path: String, writer: DatabaseActor, readers: [DatabaseActor]) {
        self.path = path
        self.writer = writer
        self.readers = readers
    }

    /// Opens the store at `path`.
    ///
    /// A file that is not a store, or a store of a newer version, is refused and left untouched (R8).
    /// - Parameter now: the moment that migrations are recorded with.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `permission`, `notAStore`, `newerSchema`, `damaged`
    ///   or `busy`.
    public static func open(
        at path: String, mode: Mode, options: Options = Options(), now: Timestamp
    ) async throws(StorageError) -> PageStore {
        let file = mode == .createIfMissing ? try StoreFile.locateOrCreate(path) : try StoreFile.locate(path)
        let writer = DatabaseActor(label: "pagecache.writer")
        try await writer.open { () throws(StorageError) in
            try StoreOpening.openWriter(file, options: options, now: now)
        }
        var readers: [DatabaseActor] = []
        for _ in 0..<2 {
            let reader = DatabaseActor(label: "pagecache.reader")
            try await reader.open { () throws(StorageError) in
                try StoreOpening.openReader(file, options: options)
            }
            readers.append(reader)
        }
        return PageStore(path: file, writer: writer, readers: readers)
    }

    /// Closes the connections; the write-ahead log is merged into the file when this was the last process.
    public func close() async {
        for reader in readers { await reader.close() }
        await writer.close()
    }

    // MARK: Reading

    public func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        try await read { connection throws(StorageError) in try QueryTable.find(key, in: connection) }
    }

    public func summaries() async throws(StorageError) -> [QuerySummary] {
        try await read { connection throws(StorageError) in
            var summaries: [QuerySummary] = []
            for record in try QueryTable.all(in: connection) {
                summaries.append(
                    QuerySummary(
                        outline: try ListOutline(record, in: connection),
                        bytes: try PageTable.bytes(of: record.id, in: connection)))
            }
            return summaries
        }
    }

    public func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try await read { connection throws(StorageError) in
            guard let record = try QueryTable.find(query, in: connection) else { return nil }
            return try ListOutline(record, in: connection)
        }
    }

    public func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await read { connection throws(StorageError) in
            guard let record = try QueryTable.find(query, in: connection) else { return nil }
            return ListOutline(
                record: record,
                pages: try PageTable.rows(meeting: range, of: query, in: connection).map(\.summary),
                ledger: try LedgerTable.entries(of: query, in: connection, range))
        }
    }

    public func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await read { connection throws(StorageError) in
            guard let record = try QueryTable.find(query, in: connection) else { return nil }
            return try WindowReading.window(of: record, range, in: connection)
        }
    }

    public func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: Int] {
        try await read { connection throws(StorageError) in
            guard let record = try QueryTable.find(query, in: connection) else { return [:] }
            return try IdentityTable.locate(keys, in: record, connection)
        }
    }

    // MARK: Writing

    public func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        try await write { session throws(StorageError) in
            try QueryTable.register(key, at: now, in: session.connection)
        }
    }

    public func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        try await writer.run { session throws(StorageError) in try CommitTransaction.apply(plan, in: session) }
    }

    public func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await write { session throws(StorageError) in
            let connection = session.connection
            guard try QueryTable.find(query, in: connection) != nil else { return [] }
            let owner = try session.owner()
            var granted: [Int] = []
            for offset in offsets
            where try LedgerTable.claim(offset, query: query, until: expiry, at: now, owner: owner, in: connection) {
                granted.append(offset)
            }
            return granted
        }
    }

    public func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        try await write { session throws(StorageError) in
            guard try QueryTable.find(query, in: session.connection) != nil else { return }
            try LedgerTable.apply(edits, query: query, at: now, in: session.connection)
        }
    }

    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        let report = try await write { session throws(StorageError) in
            try Purge.remove(queries, in: session.connection)
        }
        try await writer.run { session throws(StorageError) in
            session.identities.forgetAll()
            try Purge.returnSpace(session.connection)
        }
        return report
    }

    // MARK: Plumbing

    private func read<Value: Sendable>(
        _ body: @Sendable (Connection) throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        // Which reader is free is not known without asking; chance spreads callers well enough over two.
        let reader = readers.randomElement() ?? writer
        return try await reader.run { session throws(StorageError) in
            try session.connection.transaction(.read) { () throws(StorageError) in try body(session.connection) }
        }
    }

    private func write<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await writer.run { session throws(StorageError) in
            try session.connection.transaction(.write) { () throws(StorageError) in try body(session) }
        }
    }
}

extension ListOutline {
    fileprivate init(_ record: QueryRecord, in connection: Connection) throws(StorageError) {
        self.init(
            record: record,
            pages: try PageTable.summaries(of: record.id, in: connection),
            ledger: try LedgerTable.entries(of: record.id, in: connection))
    }
}
