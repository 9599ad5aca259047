#if PostgreSQL
import PageModel

/// A write transaction that collects its statements, and sends them together with the next reads or with the COMMIT. A
/// commit takes two round trips that way: one that locks and reads, and one that writes.
///
/// State: the statements that were not sent yet. It belongs to the task that runs the transaction.
final class WriteBatch {
    typealias Request = (sql: SQL, values: [Value])

    private let transaction: ServerTransaction
    private let dialect: Dialect
    private var pending: [(statement: Statement, then: ((Rows) -> Void)?)] = []
    private var isCommitted = false

    init(_ transaction: ServerTransaction, _ dialect: Dialect) {
        self.transaction = transaction
        self.dialect = dialect
    }

    /// Adds a statement.
    /// - Parameter then: receives the result once the statement has run. Defaults to nil.
    func add(_ request: Request, then: ((Rows) -> Void)? = nil) {
        pending.append((dialect.statement(request.sql, request.values), then))
    }

    func add(_ sql: SQL, _ values: [Value], then: ((Rows) -> Void)? = nil) { add((sql, values), then: then) }

    /// Sends the collected statements, and `requests` after them. Returns the results of `requests`.
    func read(_ requests: [Request]) async throws(StorageError) -> [Rows] {
        let sent = pending
        pending = []
        let statements = sent.map(\.statement) + requests.map { dialect.statement($0.sql, $0.values) }
        guard !statements.isEmpty else { return [] }
        let results = try await transaction.run(statements)
        for (each, rows) in zip(sent, results) { each.then?(rows) }
        return Array(results.dropFirst(sent.count))
    }

    /// Sends the collected statements and commits. A second call does nothing.
    func commit() async throws(StorageError) {
        guard !isCommitted else { return }
        isCommitted = true
        let sent = pending
        pending = []
        let results = try await transaction.commit(with: sent.map(\.statement))
        for (each, rows) in zip(sent, results) { each.then?(rows) }
    }
}
#endif
