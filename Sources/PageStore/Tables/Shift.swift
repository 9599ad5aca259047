import PageModel

/// Moving rows whose offset is part of their primary key.
///
/// SQLite checks uniqueness row by row: moved in place, a row would meet its not yet moved neighbour. So rows are taken
/// to a scratch table, deleted, and put back where they belong: half the work of moving them twice (measured in
/// Documentation/Decisions/0002). In portions, from the end that has room, so that memory stays bounded.
struct Shift {
    private static let portion = 8_192

    private let createScratch: SQL
    private let boundAbove: SQL
    private let boundBelow: SQL
    private let delete: SQL
    private let putBack: SQL
    private let empty: SQL

    static let page = Shift("page")
    // What moves to where page one is in flight gives way to it.
    static let ledger = Shift("ledger", onConflict: "OR IGNORE ")

    private init(_ table: String, onConflict conflict: String = "") {
        // A table of the connection, in memory: it is not in the file, and gone with the connection.
        createScratch = SQL("CREATE TEMP TABLE IF NOT EXISTS moving_\(table) AS SELECT * FROM main.\(table) WHERE 0")
        boundAbove = SQL(
            "SELECT offset FROM \(table) WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset DESC LIMIT 1 OFFSET ?"
        )
        boundBelow = SQL("SELECT offset FROM \(table) WHERE query = ? AND offset >= ? ORDER BY offset LIMIT 1 OFFSET ?")
        delete = SQL("DELETE FROM \(table) WHERE query = ? AND offset >= ? AND offset < ?")
        putBack = SQL("INSERT \(conflict)INTO main.\(table) SELECT * FROM temp.moving_\(table)")
        empty = SQL("DELETE FROM temp.moving_\(table)")
    }

    /// - Parameter take: copies the rows of a range to the scratch table, as they shall be.
    /// - Returns: whether every row of the range was moved; the others are deleted.
    @discardableResult
    func run(
        _ move: Rearrangement.Move, of query: QueryID, in connection: Connection,
        take: (Range<Int>) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        let distance = move.distance
        guard distance != 0 else { return true }
        var isWhole = true
        try connection.run(createScratch)
        var left = move.range
        while !left.isEmpty {
            let range = try portion(of: left, distance, query, connection)
            try take(range)
            let taken = connection.changes
            try connection.run(delete, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
            isWhole = isWhole && connection.changes == taken
            try connection.run(putBack)
            try connection.run(empty)
            left = distance > 0 ? left.lowerBound..<range.lowerBound : range.upperBound..<left.upperBound
        }
        return isWhole
    }

    /// Moving up begins at the end, moving down at the beginning: there the way is free.
    private func portion(
        of left: Range<Int>, _ distance: Int, _ query: QueryID, _ connection: Connection
    ) throws(StorageError) -> Range<Int> {
        if distance > 0 {
            let bound = try connection.number(
                boundAbove, .int(query.rawValue), .int(left.lowerBound), .int(left.upperBound), .int(Shift.portion - 1))
            return (bound.map { Int($0) } ?? left.lowerBound)..<left.upperBound
        }
        let bound = try connection.number(boundBelow, .int(query.rawValue), .int(left.lowerBound), .int(Shift.portion))
        return left.lowerBound..<min(bound.map { Int($0) } ?? left.upperBound, left.upperBound)
    }
}
