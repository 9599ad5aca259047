public import PageModel

/// What a call to load something came to (R35). A failure is thrown, as a `ListFailure`.
public enum LoadOutcome: Hashable, Sendable {
    /// So many items that were not held before.
    case loaded(Int)
    /// The same was being loaded already; this is what it brought.
    case joined(Int)
    /// There is nothing behind what is held.
    case endReached
    /// A refresh or a reset won; nothing of the call is in the list.
    case superseded
    /// An automatic trigger that has to wait: what failed last is not to be tried again yet (R33).
    case notNow

    /// For the caller who only came along.
    var joined: LoadOutcome { if case .loaded(let count) = self { .joined(count) } else { self } }
}

/// What may be served, and whether the origin is asked (R13).
public enum LoadPolicy: Hashable, Sendable, CaseIterable {
    /// What is cached, whatever its age; the origin is never asked.
    case cacheOnly
    /// What is cached, at once; page one is refreshed meanwhile.
    case cacheThenRefresh
    /// What is cached while it is fresh; otherwise page one is refreshed.
    case refreshIfStale
    /// The origin; what is cached when it cannot be had.
    case originFirst
}

/// Why something could not be loaded. It stays in the snapshots until the retry starts, and takes nothing away (R14,
/// R37).
public struct ListFailure: Error, Hashable, Sendable {
    /// What was being loaded.
    public enum Kind: String, Hashable, Sendable {
        /// Page one of a list of which nothing is held.
        case first
        /// Page one of a list that is held.
        case refresh
        /// What comes behind.
        case next
    }

    /// What was being loaded.
    public var kind: Kind
    /// What went wrong, as the ledger has it.
    public var failure: FetchFailure
    /// When an automatic trigger may try again; nil when none should.
    public var nextAttemptAt: Timestamp?
    /// What the source itself threw, when that was no `FetchFailure`. Lives as long as the process; equality leaves it
    /// out.
    public var cause: (any Error)?

    /// A failure; each parameter is the property of its name.
    public init(_ kind: Kind, _ failure: FetchFailure, nextAttemptAt: Timestamp? = nil, cause: (any Error)? = nil) {
        self.kind = kind
        self.failure = failure
        self.nextAttemptAt = nextAttemptAt
        self.cause = cause
    }

    public static func == (left: ListFailure, right: ListFailure) -> Bool {
        left.kind == right.kind && left.failure == right.failure && left.nextAttemptAt == right.nextAttemptAt
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(failure)
        hasher.combine(nextAttemptAt)
    }
}
