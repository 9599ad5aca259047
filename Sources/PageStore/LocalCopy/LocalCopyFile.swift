import PageModel

/// The SQLite file of a local copy: bodies of pages by query and id, and the order of their last uses.
///
/// The connection holds SQLite's exclusive lock, so that no other process can open the file. Every body is compared
/// with the checksum that the server's row has for it, so the file needs no protection against power loss.
///
/// Mutable state: the sizes, the held queries and the bodies that were read. Only the thread that holds the copy's
/// mutex uses it.
final class LocalCopyFile {
    /// "pgcl", in the header of every local copy.
    static let applicationID: UInt32 = 0x7067_636c
    /// The format of the file. A file of another format is removed and created again.
    private static let format: Int64 = 1
    /// The bytes that a row takes besides its body, with its entries in the indexes.
    private static let overhead = 160
    private static let pageSize = 4_096
    /// The stored size of a body, bounded, because no checksum covers it. Two blobs of at most 256 MiB make a body (see
    /// `StoreOpening.harden`).
    private static let storedBytes = "max(0, min(bytes, 536870912))"

    private let connection: Connection
    private let bound: Int
    private(set) var bytes: Int
    private(set) var queries: Set<Int64>
    /// The number of the next use. The number only grows.
    private var clock: Int64
    private var touched: Set<Int64> = []

    private static let find = SQL("SELECT number, layout, payload FROM body WHERE query = ? AND id = ?")
    private static let insert = SQL(
        "INSERT OR REPLACE INTO body (query, id, used, bytes, layout, payload) VALUES (?, ?, ?, ?, ?, ?)")
    private static let size = SQL("SELECT \(storedBytes) FROM body WHERE query = ? AND id = ?")
    private static let touch = SQL("UPDATE body SET used = ? WHERE number = ?")
    private static let oldest = SQL("SELECT number, \(storedBytes) FROM body ORDER BY used LIMIT 64")
    private static let delete = SQL("DELETE FROM body WHERE number = ?")
    private static let purge = SQL("DELETE FROM body WHERE query = ?")
    private static let purgeAll = SQL("DELETE FROM body")
    private static let sum = SQL(
        "SELECT coalesce(sum(\(storedBytes)), 0), coalesce(max(used), 0), count(*) FROM body")
    private static let held = SQL("SELECT DISTINCT query FROM body")
    private static let objects = SQL("SELECT count(*) FROM sqlite_schema")
    private static let stamp = SQL("SELECT stamp FROM store WHERE id = 1")
    private static let setStamp = SQL("INSERT OR REPLACE INTO store (id, stamp) VALUES (1, ?)")

    /// Opens or creates the file.
    /// - Parameters:
    ///   - bound: the largest size of the file in bytes.
    ///   - store: the stamp of the store on the server. The bodies of another store are removed.
    /// - Throws: `notAStore`, and leaves the file untouched, if it is not a local copy; `busy` if another process or
    ///   object has the file open; `damaged` for a local copy that cannot be used.
    init(at file: String, bound: Int, store: UInt64, fileSystem: String?) throws(StorageError) {
        guard StoreFile.isOrdinaryOrMissing(file) else {
            throw StorageError(.notAStore, "\(file) is not an ordinary file")
        }
        try StoreFile.make(file)
        var options = SQLitePageStore.Options()
        options.busyBudget = .milliseconds(50)
        options.timeLimit = .seconds(10)
        let connection = try Connection(path: file, fileSystem: fileSystem)
        try StoreOpening.harden(connection, options)
        try LocalCopyFile.makeOrCheck(connection)
        // The log of an exclusive connection needs no shared memory (https://www.sqlite.org/wal.html#noshm).
        try connection.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;
            PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 1048576;
            PRAGMA max_page_count = \(max(16, bound / LocalCopyFile.pageSize))
            """)
        self.connection = connection
        self.bound = bound
        (bytes, clock, queries) = (0, 1, [])
        let stamp = Int64(bitPattern: store)
        if try connection.number(LocalCopyFile.stamp) != stamp {
            try connection.transaction(.write) { () throws(StorageError) in
                try connection.run(LocalCopyFile.purgeAll)
                try connection.run(LocalCopyFile.setStamp, .int(stamp))
            }
            try emptyLog()
        }
        try readSizes()
    }

    /// Takes SQLite's exclusive lock. Makes an empty file a local copy, and checks the mark of any other file.
    ///
    /// The mark is in the header of a local copy from its creation on. This function does not let SQLite read a file
    /// without the mark, because reading alone can merge a log or undo a journal. A file without the mark is never
    /// reported as `damaged`, so it is never removed.
    private static func makeOrCheck(_ connection: Connection) throws(StorageError) {
        let isForeign = StorageError(.notAStore, "\(connection.path) is not a local copy of a store")
        // The word begins with the application id. `isMarked` is nil for a file that is too short for a header. A log
        // next to such a file may belong to a local copy that the file has replaced.
        let isMarked = connection.bytesOfFile(at: 68).map { $0 >> 32 == UInt64(applicationID) }
        guard isMarked ?? (connection.sizeOfFile == 0) else { throw isForeign }
        do throws(StorageError) {
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            let mark = try connection.pragma("application_id")
            if mark == 0, try connection.number(objects) == 0 {
                try connection.execute("PRAGMA page_size = \(pageSize)")
                return try create(in: connection)
            }
            guard mark == Int64(applicationID) else { throw isForeign }
            guard try connection.pragma("user_version") == format else {
                throw StorageError(.damaged, "\(connection.path) has another format")
            }
        } catch {
            throw error.code == .damaged && isMarked == nil ? isForeign : error
        }
    }

    private static func create(in connection: Connection) throws(StorageError) {
        do throws(StorageError) {
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(format);
                CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), stamp INTEGER NOT NULL);
                CREATE TABLE body (
                    number INTEGER PRIMARY KEY, query INTEGER NOT NULL, id INTEGER NOT NULL, used INTEGER NOT NULL,
                    bytes INTEGER NOT NULL, layout BLOB NOT NULL, payload BLOB NOT NULL, UNIQUE (query, id));
                CREATE INDEX body_used ON body (used, bytes);
                COMMIT
                """)
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    private func readSizes() throws(StorageError) {
        let sums = try connection.first(LocalCopyFile.sum) { row throws(StorageError) in
            (bytes: row.int(0), used: row.int64(1), count: row.int(2))
        }
        bytes = (sums?.bytes ?? 0) + (sums?.count ?? 0) * LocalCopyFile.overhead
        clock = min(max(0, sums?.used ?? 0), .max >> 1) + 1
        var found: Set<Int64> = []
        try connection.each(LocalCopyFile.held) { row throws(StorageError) in found.insert(row.int64(0)) }
        queries = found
    }

    /// Whether the path leads to another file, or to none.
    var hasMoved: Bool { connection.hasMoved }

    /// Leaves the log in its place when the connection is closed.
    func abandon() { connection.keepLogWhenClosing() }

    // MARK: Reading

    /// Returns the items of a page. Returns nil if they are missing, or if they do not match the row of the server.
    func content(of row: PageRow, in query: QueryID) throws(StorageError) -> PageContent? {
        let found = try connection.first(LocalCopyFile.find, query.rawValue, row.body) {
            found throws(StorageError) -> (Int64, PageContent?) in
            let content = found.withBlob(1) { layout in
                found.withBlob(2) { payload -> PageContent? in
                    guard layout.count + payload.count == row.bytes else { return nil }
                    return BodyCodec.content(layout: layout, payload: payload, checksum: row.checksum)
                }
            }
            return (found.int64(0), content)
        }
        guard let (number, content) = found, let content, content.count == row.summary.count else { return nil }
        if touched.count < 65_536 { touched.insert(number) }
        return content
    }

    // MARK: Writing

    /// Stores bodies, and removes the least recently used ones beyond the bound. Bodies larger than a quarter of the
    /// bound are not stored.
    /// - Parameter pages: rows of the server with the items that were read with them.
    func store(_ pages: [(row: PageRow, content: PageContent)], of query: QueryID) throws(StorageError) {
        let fitting = pages.filter { $0.row.bytes <= bound / 4 }
        guard !fitting.isEmpty else { return }
        do throws(StorageError) {
            try insert(fitting, of: query)
        } catch {
            // The file can be full although the sum is within the bound: the sum does not count free space inside of
            // pages.
            guard error.code == .full else { throw error }
            _ = try connection.transaction(.write) { () throws(StorageError) in try evict(to: bytes / 2) }
            try readSizes()
            try insert(fitting, of: query)
        }
    }

    private func insert(_ pages: [(row: PageRow, content: PageContent)], of query: QueryID) throws(StorageError) {
        var sum = bytes
        let added = pages.reduce(0) { $0 + $1.row.bytes + LocalCopyFile.overhead }
        try connection.transaction(.write) { () throws(StorageError) in
            if sum + added > bound { sum = try evict(to: max(0, bound / 8 * 7 - added)) }
            for (row, content) in pages {
                let before = try connection.number(LocalCopyFile.size, .int(query.rawValue), .int(row.body))
                if let before { sum -= Int(before) + LocalCopyFile.overhead }
                try put(row, content, of: query)
                sum += row.bytes + LocalCopyFile.overhead
            }
        }
        bytes = max(0, sum)
        queries.insert(query.rawValue)
        clock += 1
    }

    private func put(_ row: PageRow, _ content: PageContent, of query: QueryID) throws(StorageError) {
        var failure: StorageError?
        // Bound in place, so that the bytes of a page are not copied before SQLite copies them.
        content.text.withUnsafeBytes { layout in
            content.bytes.withUnsafeBytes { payload in
                do throws(StorageError) {
                    try connection.run(LocalCopyFile.insert) { statement throws(StorageError) in
                        try statement.bind(1, query.rawValue)
                        try statement.bind(2, row.body)
                        try statement.bind(3, clock)
                        try statement.bind(4, row.bytes)
                        try statement.bindInPlace(5, layout)
                        try statement.bindInPlace(6, payload)
                    }
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
    }

    /// Removes the least recently used bodies until the rest takes at most `size` bytes. Call inside a write
    /// transaction.
    /// - Returns: the bytes of the rest.
    @discardableResult
    private func evict(to size: Int) throws(StorageError) -> Int {
        for number in touched { try connection.run(LocalCopyFile.touch, .int(clock), .int(number)) }
        touched.removeAll()
        var rest = bytes
        while rest > size {
            var victims: [(number: Int64, bytes: Int)] = []
            try connection.each(LocalCopyFile.oldest) { row throws(StorageError) in
                victims.append((row.int64(0), row.int(1)))
            }
            guard !victims.isEmpty else { return 0 }
            for victim in victims where rest > size {
                try connection.run(LocalCopyFile.delete, .int(victim.number))
                rest -= victim.bytes + LocalCopyFile.overhead
            }
        }
        return rest
    }

    // MARK: Purging

    /// Removes the bodies of queries, overwrites their bytes, and empties the log.
    func purge(_ gone: [Int64]) throws(StorageError) {
        let held = gone.filter(queries.contains)
        guard !held.isEmpty else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            for query in held { try connection.run(LocalCopyFile.purge, .int(query)) }
        }
        try emptyLog()
        touched.removeAll()
        try readSizes()
    }

    /// Copies the log into the file, and truncates it to zero bytes. No other connection can block this, because the
    /// file is locked exclusively.
    private func emptyLog() throws(StorageError) {
        try connection.pragma("wal_checkpoint(TRUNCATE)") { row throws(StorageError) in
            guard row.int64(0) == 0 else { throw StorageError(.busy, "the log of \(connection.path) is in use") }
        }
    }
}
