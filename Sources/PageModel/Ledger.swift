/// The persisted fetch record of one page (R26): attempts, the last result, and the time of the next attempt.
public struct LedgerEntry: Hashable, Sendable {
    /// 0-based position of the page's first item.
    public var offset: Int
    /// The state of the fetch.
    public var state: FetchState
    /// The number of consecutive attempts, including a running one. The count starts again after a success.
    public var attempts: Int
    /// The time of the first failure since the last success; `nil` without a failure since then.
    public var firstFailureAt: Timestamp?
    /// The time when the last attempt began; `nil` when there was none.
    public var lastAttemptAt: Timestamp?
    /// The earliest time for an automatic retry; `nil` when none is scheduled.
    public var nextAttemptAt: Timestamp?
    /// The last failure, kept until a fetch of the page succeeds.
    public var failure: FetchFailure?
    /// The end of the pause that the origin requested (`Retry-After`); `nil` when it requested none.
    public var retryAfterUntil: Timestamp?
    /// The owner of the lease, as the storage names it; `nil` when the page is not in flight.
    public var leaseOwner: String?
    /// The end of the lease as a wall time of the storage, computed when the entry was read. It is in the past when the
    /// lease has ended. `nil` when the page is not in flight (R30).
    public var leaseExpiresAt: Timestamp?
    /// The token of the lease; `nil` when the page is not in flight.
    public var leaseToken: LeaseToken?

    /// Creates a fetch record.
    public init(
        offset: Int, state: FetchState, attempts: Int = 0, firstFailureAt: Timestamp? = nil,
        lastAttemptAt: Timestamp? = nil, nextAttemptAt: Timestamp? = nil, failure: FetchFailure? = nil,
        retryAfterUntil: Timestamp? = nil, leaseOwner: String? = nil, leaseExpiresAt: Timestamp? = nil,
        leaseToken: LeaseToken? = nil
    ) {
        self.offset = offset
        self.state = state
        self.attempts = attempts
        self.firstFailureAt = firstFailureAt
        self.lastAttemptAt = lastAttemptAt
        self.nextAttemptAt = nextAttemptAt
        self.failure = failure
        self.retryAfterUntil = retryAfterUntil
        self.leaseOwner = leaseOwner
        self.leaseExpiresAt = leaseExpiresAt
        self.leaseToken = leaseToken
    }
}

/// The state of a page's fetch (R26).
public enum FetchState: String, Hashable, Sendable, CaseIterable {
    /// The page is not in flight and has no current result, for example after an attempt was released.
    case pending
    /// An owner is fetching the page under a lease.
    case inFlight = "in_flight"
    /// The last fetch succeeded.
    case ok
    /// The fetch failed, and a retry can succeed.
    case failedRetryable = "failed_retryable"
    /// The fetch failed, and a retry cannot succeed (R27).
    case failedPermanent = "failed_permanent"

    /// Whether the state is a failure, which an interface should show.
    public var isFailure: Bool {
        switch self {
        case .failedRetryable, .failedPermanent: true
        case .pending, .inFlight, .ok: false
        }
    }
}

/// One change to the ledger. It belongs to the same transaction as the data that it describes (R1).
///
/// An edit that ends or fails a lease names its token (R30):
///
/// - The storage finds the row by the token, even after an earlier commit moved the row. The edit's `offset` only says
///   where to look first.
/// - A stale token changes no record, and the call returns it as lost.
/// - `nil` means that the caller never had a lease. Such an edit skips a page in flight under a lease that still
///   counts, because the lease's holder records the result. A lease counts until its end, while its owner lives.
/// - An earlier edit of the same call may have ended the lease of the token, and so may the list edits of the same
///   plan. The token then still permits the edit, which applies at its own offset like an edit without a token.
public enum LedgerEdit: Hashable, Sendable {
    /// The page was fetched.
    case succeeded(offset: Int, lease: LeaseToken? = nil)
    /// The fetch failed. The next attempt is due after `nextAttemptIn`; `nil` means that no automatic trigger retries
    /// the page.
    case failed(offset: Int, failure: FetchFailure, nextAttemptIn: Duration?, lease: LeaseToken? = nil)
    /// The fetch ended without a result, because of a shutdown or because the page is no longer wanted. The record
    /// returns to `pending`, and the attempt does not count. If the attempt retried a retryable failure, the page is
    /// due at once.
    case released(offset: Int, lease: LeaseToken)
    /// A caller wants the page now (R33). A failed page is due at once, even after a permanent failure, and its
    /// `Retry-After` pause is removed. Attempts and failure stay. The edit skips pages that are not failing: a page in
    /// flight keeps its lease.
    case expedited(offset: Int)
    /// The record is removed, because the position no longer exists or the record has no further use.
    case deleted(offset: Int, lease: LeaseToken? = nil)

    /// The offset of the page.
    public var offset: Int {
        switch self {
        case .succeeded(let offset, _), .failed(let offset, _, _, _), .released(let offset, _), .expedited(let offset),
            .deleted(let offset, _):
            offset
        }
    }

    /// The token that the edit names; `nil` for an edit without a lease.
    public var lease: LeaseToken? {
        switch self {
        case .succeeded(_, let lease), .failed(_, _, _, let lease), .deleted(_, let lease): lease
        case .released(_, let lease): lease
        case .expedited: nil
        }
    }
}
