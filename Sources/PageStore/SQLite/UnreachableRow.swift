import PageModel

/// A row or table that a statement could not reach because the file is damaged.
enum UnreachableRow: Hashable {
    case body(Int64)
    /// The end of the `body` table, where new rows are inserted.
    case newBodies
    case identities
    case accesses
    /// The greatest id in a table, by the index of the table in `QueryNumbers`.
    case greatestID(Int)
}

extension Connection {
    /// Runs a statement that can be skipped. Returns nil when the row is known to be unreachable, or when a read
    /// transaction fails to reach it.
    ///
    /// After SQLITE_CORRUPT, SQLite refuses further writes and the COMMIT of the same transaction. A write transaction
    /// therefore remembers the row and throws. `Session.write` then runs the transaction again, without that row.
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
