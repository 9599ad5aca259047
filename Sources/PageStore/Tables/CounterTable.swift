import PageModel

/// Rows of `counter`: numbers that the store never gives twice.
enum CounterTable {
    private static let value = SQL("SELECT value FROM counter WHERE name = 'lease'")
    private static let store = SQL(
        "INSERT INTO counter (name, value) VALUES ('lease', ?1) ON CONFLICT DO UPDATE SET value = ?1")

    /// So many tokens a session reserves at a time: a claim then writes no row but the ledger's (Decision 0009).
    static let block: Int64 = 1 << 20
    private static let largest: Int64 = 1 << 62
    /// Counts that the table can hold; any other is damage (R46).
    static let counts = 0...largest

    /// The end of the last block. Returns `nil` when there is none, or none can follow.
    static func count(in connection: Connection) throws(StorageError) -> Int64? {
        try connection.number(value).flatMap { (0...largest - block).contains($0) ? $0 : nil }
    }

    static func set(_ count: Int64, in connection: Connection) throws(StorageError) {
        try connection.run(store, .int(count))
    }

    /// A random number beyond those that `reserve` starts with.
    static func beyond() -> Int64 { .random(in: largest / 2..<largest / 4 * 3) }

    /// Reserves the next block of tokens. Call inside a write transaction; a block of one that is rolled back must not
    /// be used.
    /// - Parameter start: where a counter begins that is not there, or says impossible things. Chance: where a row was
    ///   lost, tokens of the lost count may be held still.
    static func reserve(
        in connection: Connection, start: () -> Int64 = { .random(in: 0..<largest / 2) }
    ) throws(StorageError) -> Range<Int64> {
        let first = try count(in: connection) ?? start()
        try set(first + block, in: connection)
        return first..<first + block
    }
}
