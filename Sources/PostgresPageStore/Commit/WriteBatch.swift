#if PostgreSQL
import PageModel

/// A transaction that collects its statements, and sends them together with the next reads or with the COMMIT. Most
/// commits therefore take two round trips: the first locks and reads, and the second writes.
///
/// State: the statements that were not sent yet, and those among them that take further rows. A batch belongs to the
/// task that runs the transaction.
final class WriteBatch {
    typealias Request = (sql: SQL, values: [Value])

    private let transaction: ServerTransaction
    private let dialect: Dialect
    private var pending: [Pending] = []
    /// The closures that receive the results of pending statements, in the order of the calls.
    private var receivers: [(index: Int, then: (Rows) -> Void)] = []
    /// The indices of the pending statements that take further rows. A single statement closes them, because it may
    /// depend on the rows before it.
    private var open: [RowStatement: Int] = [:]
    private var isCommitted = false

    private enum Pending {
        case single(Request)
        case rows(RowGroup)

        var request: Request {
            switch self {
            case .single(let request): request
            case .rows(let group): group.request
            }
        }
    }

    init(_ transaction: ServerTransaction, _ dialect: Dialect) {
        self.transaction = transaction
        self.dialect = dialect
    }

    /// Adds a statement.
    /// - Parameter then: receives the result once the statement has run. Defaults to nil.
    func add(_ request: Request, then: ((Rows) -> Void)? = nil) {
        open = [:]
        append(.single(request), then)
    }

    func add(_ sql: SQL, _ values: [Value], then: ((Rows) -> Void)? = nil) { add((sql, values), then: then) }

    /// Adds a row to a statement that may take several rows. The row joins the last group of rows with the same
    /// statement and the same shared values. It begins a new group if that group is full, or if a single statement was
    /// added in between.
    /// - Parameters:
    ///   - shared: the values that all rows share.
    ///   - then: receives the result for all rows that were sent together. Defaults to nil.
    func add(_ row: [Value], to statement: RowStatement, _ shared: [Value], then: ((Rows) -> Void)? = nil) {
        if let index = open[statement], case .rows(var group) = pending[index], group.take(row, shared) {
            pending[index] = .rows(group)
            if let then { receivers.append((index, then)) }
            return
        }
        open[statement] = pending.count
        append(.rows(RowGroup(statement, shared, row)), then)
    }

    private func append(_ entry: Pending, _ then: ((Rows) -> Void)?) {
        if let then { receivers.append((pending.count, then)) }
        pending.append(entry)
    }

    /// Sends the collected statements, followed by `requests`. Returns the results of `requests`.
    func read(_ requests: [Request]) async throws(StorageError) -> [Rows] {
        let (sent, receivers) = take()
        let statements = sent + requests.map { dialect.statement($0.sql, $0.values) }
        guard !statements.isEmpty else { return [] }
        let results = try await transaction.run(statements)
        for receiver in receivers { receiver.then(results[receiver.index]) }
        return Array(results.dropFirst(sent.count))
    }

    /// Sends the collected statements and commits. A second call does nothing.
    func commit() async throws(StorageError) {
        guard !isCommitted else { return }
        isCommitted = true
        let (sent, receivers) = take()
        let results = try await transaction.commit(with: sent)
        for receiver in receivers { receiver.then(results[receiver.index]) }
    }

    /// Returns the collected statements and the receivers of their results, and removes them from the batch.
    private func take() -> (statements: [Statement], receivers: [(index: Int, then: (Rows) -> Void)]) {
        defer { (pending, receivers, open) = ([], [], [:]) }
        return (pending.map { dialect.statement($0.request.sql, $0.request.values) }, receivers)
    }
}
#endif
