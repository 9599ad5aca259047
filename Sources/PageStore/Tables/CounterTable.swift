import PageModel

/// Rows of `counter`: numbers that the store never gives twice.
enum CounterTable {
    private static let value = SQL("SELECT value FROM counter WHERE name = 'lease'")
    private static let store = SQL("INSERT INTO counter (name, value) VALUES ('lease', ?1) ON CONFLICT DO UPDATE SET value = ?1")

    /// So many tokens a session reserves at a time: a claim then writes no row but the ledger's (Decision 0009).
    static let block: Int64 = 1 << 20
    private static let largest: Int64 = 1 << 62

    /// Reserves the next block of tokens. Call inside a write transaction; a block of one that is rolled back must not be used.
    /// - Parameter start: where a counter begins that is not there, or says impossible things. Chance: where a row was lost, tokens
    ///   of the lost count may be held still.
    static func reserve(
        in connection: Connection, start: () -> Int64 = { .random(in: 0..<largest / 2) }
    ) throws(StorageError) -> Range<Int64> {
        let known = try connection.number(value).flatMap { (0..<largest).contains($0) ? $0 : nil }
        let first = known ?? start()
        try connection.run(store, .int(first + block))
        return first..<first + block
    }
}
