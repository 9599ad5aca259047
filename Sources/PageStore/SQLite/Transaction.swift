import PageModel

/// How a transaction begins.
enum TransactionKind: String {
    /// A reader: sees one moment of the store (R2).
    case read = "BEGIN DEFERRED"
    /// A writer: takes the lock at once, so that the busy budget applies. A reader that turns writer fails whatever
    /// the budget.
    case write = "BEGIN IMMEDIATE"
}

extension Connection {
    /// Runs `body` in a transaction; commits when it returns, rolls back when it throws.
    func transaction<Value>(
        _ kind: TransactionKind, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try run(kind.rawValue)
        do {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            // A failed COMMIT may or may not have ended the transaction; ROLLBACK then reports "no transaction", which
            // is what we want anyway (https://www.sqlite.org/lang_transaction.html).
            try? run("ROLLBACK")
            throw error
        }
    }
}
