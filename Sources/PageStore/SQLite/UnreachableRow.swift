import PageModel

/// A row, or a table, that a statement could not reach because the file is damaged there.
enum UnreachableRow: Hashable {
    case body(Int64)
    /// The end of the table of bodies, where new ones go.
    case newBodies
    case identities
    case accesses
    /// The greatest id in a table, by the table's place in `QueryNumbers`.
    case greatestID(Int)
}

extension Connection {
    /// Runs a statement that can be left out. Returns nil when the row is known to be unreachable, or turns out to be
    /// in a read transaction.
    ///
    /// After SQLITE_CORRUPT in a transaction SQLite refuses all its further writes, and its COMMIT. So a write
    /// transaction remembers the row and throws; `Session.write` then runs it again, without that row.
    func reaching<Value>(
        _ row: UnreachableRow, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        guard !unreachable.contains(row) else { return nil }
        do throws(StorageError) {
            return try body()
        } catch {
            guard error.isUnreadableRow else { throw error }
            guard isWriting else { return nil }
            unreachable.insert(row)
            throw error
        }
    }
}
