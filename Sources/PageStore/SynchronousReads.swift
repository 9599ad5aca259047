public import PageModel

/// Reads of a store on the caller's own thread, for callers that may block it: request handlers with threads of their
/// own, tools, tests. Each is one read transaction; none waits for a writer.
///
/// Not for `async` code: there a blocked thread is one of few.
public struct SynchronousReads: Sendable {
    private let pool: ReaderPool
    private let accesses: AccessLog

    init(pool: ReaderPool, accesses: AccessLog) {
        self.pool = pool
        self.accesses = accesses
    }

    /// The query with this key; nil when there is none.
    public func query(_ key: QueryKey) throws(StorageError) -> QueryRecord? {
        try read { reading throws(StorageError) in try QueryTable.find(key, in: reading.connection) }
    }

    /// The list without its items; nil when the query is gone.
    public func outline(of query: QueryID) throws(StorageError) -> ListOutline? {
        try read { reading throws(StorageError) in try reading.outline(of: query) }
    }

    /// The items at `range`; nil when the query is gone. Positions that do not exist are simply missing.
    public func window(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListWindow? {
        try read { reading throws(StorageError) in try reading.window(of: query, range) }
    }

    /// The page that starts at `offset`, with its items; nil when none does, or when its bytes are damaged.
    public func page(at offset: Int, of query: QueryID) throws(StorageError) -> StoredPage? {
        try read { reading throws(StorageError) in try reading.page(at: offset, of: query) }
    }

    private func read<Value: Sendable>(
        _ body: (StoreReading) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try pool.read { connection throws(StorageError) in
            try body(StoreReading(connection: connection, accesses: accesses))
        }
    }
}
