import PageModel

/// How a transaction begins.
enum TransactionKind {
    /// A reader: sees one moment of the store (R2).
    case read
    /// A writer: takes the lock at once, so that the busy budget applies. A reader that turns writer fails whatever
    /// the budget.
    case write

    fileprivate var begin: SQL { self == .read ? TransactionKind.beginRead : TransactionKind.beginWrite }

    private static let beginRead = SQL("BEGIN DEFERRED")
    fileprivate static let beginWrite = SQL("BEGIN IMMEDIATE")
    fileprivate static let commit = SQL("COMMIT")
    fileprivate static let rollback = SQL("ROLLBACK")
}

extension Connection {
    /// Runs `body` in a transaction; commits when it returns, rolls back when it throws.
    func transaction<Value>(
        _ kind: TransactionKind, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        restartWatchdog()
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
            // A failed COMMIT may or may not have ended the transaction; ROLLBACK then reports "no transaction", which
            // is what we want anyway (https://www.sqlite.org/lang_transaction.html).
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

    /// Ends a transaction that has read. One that has met SQLITE_CORRUPT can only be rolled back, and has nothing to
    /// lose.
    private func end() {
        do throws(StorageError) {
            try run(TransactionKind.commit)
        } catch {
            try? run(TransactionKind.rollback)
        }
    }
}
