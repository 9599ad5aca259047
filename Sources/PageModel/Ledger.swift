/// The persisted fetch record of one page (R26): what was tried, how it went, and when it is tried next.
public struct LedgerEntry: Hashable, Sendable {
    /// 0-based position of the page's first item.
    public var offset: Int
    /// Where it stands.
    public var state: FetchState
    /// Consecutive attempts, the running one included; starts again after a success.
    public var attempts: Int
    /// When it failed for the first time since it last succeeded; nil when it has not.
    public var firstFailureAt: Timestamp?
    /// When the last attempt began; nil when there was none.
    public var lastAttemptAt: Timestamp?
    /// When an automatic trigger may try again; nil when nothing is scheduled.
    public var nextAttemptAt: Timestamp?
    /// What went wrong last; kept until the page succeeds.
    public var failure: FetchFailure?
    /// Until when the origin asked to be left alone (`Retry-After`).
    public var retryAfterUntil: Timestamp?
    /// Who has the page in flight.
    public var leaseOwner: String?
    /// The end of the lease, as a wall time of the storage at the moment of the read; a time that is over when the
    /// lease is. `nil` when the page is not in flight (R30).
    public var leaseExpiresAt: Timestamp?
    /// The token of the lease. `nil` when the page is not in flight.
    public var leaseToken: LeaseToken?

    /// A fetch record; each parameter is the property of its name.
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

/// Where a page stands in its fetching (R26).
public enum FetchState: String, Hashable, Sendable, CaseIterable {
    /// Nothing was tried since it last succeeded, or an attempt was given up without a verdict.
    case pending
    /// Somebody is fetching it, under a lease.
    case inFlight = "in_flight"
    /// It was had.
    case ok
    /// It failed, and trying again can help.
    case failedRetryable = "failed_retryable"
    /// It failed, and trying again does not help (R27).
    case failedPermanent = "failed_permanent"

    /// The states that people should hear about.
    public var isFailure: Bool {
        switch self {
        case .failedRetryable, .failedPermanent: true
        case .pending, .inFlight, .ok: false
        }
    }
}

/// One change to the ledger. Changes belong to the same transaction as the data they speak of (R1).
///
/// An edit that ends or fails a lease names its token (R30):
///
/// - The row is found by the token, wherever a shift has moved it; the edit's `offset` says where to look first.
/// - A stale token changes nothing, and the caller learns that the lease was lost.
/// - `nil` means that the caller never had a lease. Such an edit skips a page that is in flight under a lease that
///   still counts: the page's holder records the result. A lease counts until its end, while its owner lives.
/// - An earlier edit of the same call may have ended the token, and so may the list edits of the same plan. The token
///   then still permits the edit, which applies at its own offset like one without a token.
public enum LedgerEdit: Hashable, Sendable {
    /// The page arrived.
    case succeeded(offset: Int, lease: LeaseToken? = nil)
    /// The fetch failed. The next attempt is due after `nextAttemptIn`; `nil` means that no automatic trigger will try
    /// again.
    case failed(offset: Int, failure: FetchFailure, nextAttemptIn: Duration?, lease: LeaseToken? = nil)
    /// The fetch was given up without a result (shutdown, a page that is no longer wanted): back to `pending`. That
    /// attempt does not count, and a page that was being tried again is due at once.
    case released(offset: Int, lease: LeaseToken)
    /// Somebody wants the page now: what failed, for good too, is due at once, and a `Retry-After` is set aside (R33).
    /// Attempts and failure stay. Ignored for pages that are not failing: one that is in flight keeps its lease.
    case hastened(offset: Int)
    /// The record is gone: the position no longer exists, or the record is of no use.
    case forgotten(offset: Int, lease: LeaseToken? = nil)

    /// The page that it is about.
    public var offset: Int {
        switch self {
        case .succeeded(let offset, _), .failed(let offset, _, _, _), .released(let offset, _), .hastened(let offset),
            .forgotten(let offset, _):
            offset
        }
    }

    /// The token that it names; `nil` when the caller never had a lease.
    public var lease: LeaseToken? {
        switch self {
        case .succeeded(_, let lease), .failed(_, _, _, let lease), .forgotten(_, let lease): lease
        case .released(_, let lease): lease
        case .hastened: nil
        }
    }
}
