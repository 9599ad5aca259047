import PageModel

/// The kind of a transaction.
enum TransactionKind {
    /// A read transaction, which sees one commit of the store (R2).
    case read
    /// A write transaction. It takes the lock at once, so that the busy budget applies. A read transaction that starts
    /// to write can fail without waiting, because another connection has committed since it began.
    case write

    fileprivate var begin: SQL { self == .read ? TransactionKind.beginRead : TransactionKind.beginWrite }

    private static let beginRead = SQL("BEGIN DEFERRED")
    fileprivate static let beginWrite = SQL("BEGIN IMMEDIATE")
    fileprivate static let commit = SQL("COMMIT")
    fileprivate static let rollback = SQL("ROLLBACK")
}

extension Connection {
    /// Runs `body` in a transaction. Commits when `body` returns, and rolls back when it throws.
    func transaction<Value>(
        _ kind: TransactionKind, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        do throws(StorageError) {
            if kind == .write { try takeWriteLock() } else { try run(kind.begin) }
        } catch {
            throw explained(error)
        }
        isWriting = kind == .write
        defer { isWriting = false }
        do {
            let value = try body()
            if kind == .read { end() } else { try run(TransactionKind.commit) }
            return value
        } catch {
            // A failed COMMIT may or may not have ended the transaction. The ROLLBACK may then report "no transaction",
            // which is harmless (https://www.sqlite.org/lang_transaction.html).
            try? run(TransactionKind.rollback)
            throw explained(error)
        }
    }

    /// Begins a write transaction, in turn with other processes.
    func takeWriteLock() throws(StorageError) {
        if busyBudget > .zero { turns?.begin() }
        defer { turns?.end() }
        try run(TransactionKind.beginWrite)
    }

    /// Ends a read transaction. After SQLITE_CORRUPT, a rollback is the only way, and loses no data.
    private func end() {
        do throws(StorageError) {
            try run(TransactionKind.commit)
        } catch {
            try? run(TransactionKind.rollback)
        }
    }
}
