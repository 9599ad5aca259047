#if PostgreSQL
/// A request on its way from a task to the thread of the connections.
struct Submission: Sendable {
    typealias ID = PipelineMachine.RequestID

    enum Role: Hashable, Sendable {
        /// A whole implicit transaction.
        case group
        /// A part of an explicit transaction.
        case step(TransactionID, isFirst: Bool)
        /// The last part of an explicit transaction.
        case commit(TransactionID)
    }

    enum Receiver: Sendable {
        case task(CheckedContinuation<Result<[Rows], PostgresError>, Never>)
        case listen(String)
        case unlisten
    }

    let id: ID
    let role: Role
    let statements: [EncodedStatement]
    let deadline: ContinuousClock.Instant
    let receiver: Receiver
}

/// The number of an explicit transaction.
struct TransactionID: Hashable, Sendable {
    let number: UInt64
}

/// A request that the reactor has received, with its results so far. Only the reactor uses it, under its lock.
final class Request {
    let submission: Submission
    let deadline: Duration
    /// The index of the connection that has the request. `nil` while the request is queued.
    var connection: Int?
    var rows: [Rows] = []
    var failure: PostgresError?
    /// Whether the server stopped waiting for its synchronous standby. The transaction is committed.
    var isUnconfirmed = false
    /// The number of times that the request was sent again because its named statements were missing or outdated.
    var repetitions = 0

    init(_ submission: Submission, deadline: Duration) {
        self.submission = submission
        self.deadline = deadline
    }

    var id: Submission.ID { submission.id }

    var kind: PipelineMachine.Kind {
        switch submission.role {
        case .group: .group
        case .step: .step
        case .commit: .commit
        }
    }

    var transaction: TransactionID? {
        switch submission.role {
        case .group: nil
        case .step(let id, _), .commit(let id): id
        }
    }

    var isFirstStep: Bool { if case .step(_, isFirst: true) = submission.role { true } else { false } }

    func forgetResults() {
        rows = []
        failure = nil
        isUnconfirmed = false
    }
}
#endif
