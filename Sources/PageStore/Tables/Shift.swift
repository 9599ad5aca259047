import PageModel

/// Moves rows whose offset is part of their primary key.
///
/// SQLite checks uniqueness row by row. A row moved in place would collide with a neighbour that has not moved yet. So
/// rows are copied to a scratch table, deleted, and inserted at their new offsets. That is half the work of moving
/// every row in place to a temporary offset, and from there to its new one (measured in Documentation/Decisions/0002).
/// The rows are moved in portions, from the end that has room, so memory stays bounded.
struct Shift {
    private static let portion = 8_192

    private let createScratch: SQL
    private let boundAbove: SQL
    private let boundBelow: SQL
    private let delete: SQL
    private let restoreRows: SQL
    private let empty: SQL

    static let page = Shift("page")
    // A row that would move onto page one while it is in flight is dropped.
    static let ledger = Shift("ledger", onConflict: "OR IGNORE ")

    private init(_ table: String, onConflict conflict: String = "") {
        // A temporary table in memory. It is not in the file, and ends with the connection.
        createScratch = SQL("CREATE TEMP TABLE IF NOT EXISTS moving_\(table) AS SELECT * FROM main.\(table) WHERE 0")
        boundAbove = SQL(
            "SELECT offset FROM \(table) WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset DESC LIMIT 1 OFFSET ?"
        )
        boundBelow = SQL("SELECT offset FROM \(table) WHERE query = ? AND offset >= ? ORDER BY offset LIMIT 1 OFFSET ?")
        delete = SQL("DELETE FROM \(table) WHERE query = ? AND offset >= ? AND offset < ?")
        restoreRows = SQL("INSERT \(conflict)INTO main.\(table) SELECT * FROM temp.moving_\(table)")
        empty = SQL("DELETE FROM temp.moving_\(table)")
    }

    /// Moves the rows of a stretch.
    /// - Parameter take: copies the rows of a range to the scratch table, with their new values.
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
            try connection.run(restoreRows)
            try connection.run(empty)
            left = distance > 0 ? left.lowerBound..<range.lowerBound : range.upperBound..<left.upperBound
        }
        return isWhole
    }

    /// Returns the next portion. Moving up starts at the end and moving down at the beginning, where the target is
    /// free.
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
