import PageModel

/// Moving rows whose offset is part of their primary key.
///
/// SQLite checks uniqueness row by row: moved in place, a row would meet its not yet moved neighbour. So they are moved
/// to a place beyond every position that can exist (R44), and from there to where they belong.
enum Shift {
    static let parking = 1 << 60

    private static let unparkPages = SQL("UPDATE page SET offset = offset - ? WHERE query = ? AND offset >= ?")
    private static let parkLedger = SQL("UPDATE ledger SET offset = offset + ? WHERE query = ? AND offset >= ?")
    private static let unparkLedger = SQL("UPDATE ledger SET offset = offset - ? WHERE query = ? AND offset >= ?")

    static func unpark(
        pages: Bool, from position: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        try connection.run(
            pages ? unparkPages : unparkLedger, .int(parking), .int(query.rawValue), .int(parking + position))
    }

    static func ledger(
        from position: Int, by distance: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        try connection.run(parkLedger, .int(parking + distance), .int(query.rawValue), .int(position))
        try unpark(pages: false, from: position + distance, query: query, in: connection)
    }
}
