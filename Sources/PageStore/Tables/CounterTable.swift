import PageModel

/// Rows of `counter`: numbers that the store never issues twice.
enum CounterTable {
    private static let value = SQL("SELECT value FROM counter WHERE name = 'lease'")
    private static let store = SQL(
        "INSERT INTO counter (name, value) VALUES ('lease', ?1) ON CONFLICT DO UPDATE SET value = ?1")

    /// The number of tokens that a session reserves at a time. Most claims then write only the row of the ledger
    /// (Decision 0009).
    static let block: Int64 = 1 << 20
    private static let largest: Int64 = 1 << 62
    /// The valid counts. Any other count is damage (R46).
    static let counts = 0...largest

    /// Returns the end of the last reserved block. Returns `nil` when there is none, or when no block can follow.
    static func count(in connection: Connection) throws(StorageError) -> Int64? {
        try connection.number(value).flatMap { (0...largest - block).contains($0) ? $0 : nil }
    }

    static func set(_ count: Int64, in connection: Connection) throws(StorageError) {
        try connection.run(store, .int(count))
    }

    /// Returns a random number beyond those with which `reserve` starts.
    static func beyond() -> Int64 { .random(in: largest / 2..<largest / 4 * 3) }

    /// Reserves the next block of tokens. Call inside a write transaction. A block must not be used when its
    /// transaction is rolled back.
    /// - Parameter start: returns the first number when the counter is missing or invalid. Defaults to a random number:
    ///   after a loss of the row, earlier tokens may still be held.
    static func reserve(
        in connection: Connection, start: () -> Int64 = { .random(in: 0..<largest / 2) }
    ) throws(StorageError) -> Range<Int64> {
        let first = try count(in: connection) ?? start()
        try set(first + block, in: connection)
        return first..<first + block
    }
}
