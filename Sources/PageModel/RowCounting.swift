/// A storage on a server that keeps replaced rows until they are vacuumed. Many dead rows make reads and commits slow.
public protocol RowCounting: PageStorage {
    /// Returns the rows of each table, as the server counts them, by name. The figures are estimates.
    /// - Throws: `StorageError`, as every read does.
    func rowCounts() async throws(StorageError) -> [RowCount]
}

/// The rows of one table of a storage on a server.
public struct RowCount: Hashable, Sendable {
    /// The name of the table.
    public var table: String
    /// The rows in use.
    public var live: Int
    /// The replaced and deleted rows that were not vacuumed yet.
    public var dead: Int

    /// Creates the figures of a table.
    public init(table: String, live: Int, dead: Int) {
        self.table = table
        self.live = live
        self.dead = dead
    }
}
