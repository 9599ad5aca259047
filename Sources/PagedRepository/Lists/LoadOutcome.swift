public import PageModel

/// The result of a load (R35). A failed load throws a `ListFailure`.
public enum LoadOutcome: Hashable, Sendable {
    /// New items were loaded. The value is the number of items that were not held before, at least 1.
    case loaded(Int)
    /// The origin answered, and the list has not changed.
    case upToDate
    /// A refresh found that the list had changed. The list holds no more items than before: items were edited,
    /// replaced, moved or removed. `PagedList.updates` has the difference.
    case changed
    /// The cached list is the result, because the policy allows that. With `originFirst`, this means that the refresh
    /// of page one failed.
    case cached
    /// New items were loaded, and none of them decodes. The value is their number; see `ListSnapshot.undecodable`.
    case undecodable(Int)
    /// The snapshot already holds `PagedListOptions.itemLimit` items. The origin was not contacted, or its new items
    /// are not shown. `ListRepository.page` returns the items after the limit.
    case itemLimitReached
    /// The same load was already under way, and the call waited for its end. The value is the number of new items that
    /// the load added.
    case joined(Int)
    /// The list ends with the held items.
    case endReached
    /// A refresh, a reset or `forget` superseded the call. The result of the call is not in the list. A call for the
    /// next page during a refresh returns when the refresh has ended.
    case superseded
    /// An automatic trigger did not send a request, because the next attempt after the last failure is not due (R33).
    case notDue

    /// The outcome for a caller that joined a load under way.
    var joined: LoadOutcome {
        switch self {
        case .loaded(let count): .joined(count)
        case .upToDate: .joined(0)
        case .changed, .cached, .undecodable, .itemLimitReached, .joined, .endReached, .superseded, .notDue: self
        }
    }
}

/// How a load uses the cache and the origin (R13).
public enum LoadPolicy: Hashable, Sendable, CaseIterable {
    /// Serves the cached items, whatever their age, and never contacts the origin.
    case cacheOnly
    /// Serves the cached items at once, and then refreshes page one.
    case cacheThenRefresh
    /// Serves the cached items while they are fresh; otherwise refreshes page one.
    case refreshIfStale
    /// Refreshes page one, and serves the cached items when that fails.
    case originFirst
}

/// Why a load failed. The failure stays in the snapshots until the retry starts, and removes no items (R14, R37).
public struct ListFailure: Error, Hashable, Sendable {
    /// The kind of load that failed.
    public enum Kind: String, Hashable, Sendable {
        /// Page one of a list that was never loaded.
        case first
        /// Page one of a loaded list.
        case refresh
        /// The items after the held ones.
        case next
        /// The storage could not be read or written, in any kind of load. `cause` is the `StorageError`.
        case storage
    }

    /// The kind of load that failed.
    public var kind: Kind
    /// The failure of the request: its class, a message, and whether a retry can help.
    public var failure: FetchFailure
    /// The time from which an automatic trigger may retry. `nil` means that no retry is scheduled.
    public var nextAttemptAt: Timestamp?
    /// The error that the source threw, unless that was a `FetchFailure`. For the kind `storage`, the `StorageError`.
    /// The cause is not stored, and equality ignores it.
    public var cause: (any Error)?

    /// Creates a failure.
    public init(_ kind: Kind, _ failure: FetchFailure, nextAttemptAt: Timestamp? = nil, cause: (any Error)? = nil) {
        self.kind = kind
        self.failure = failure
        self.nextAttemptAt = nextAttemptAt
        self.cause = cause
    }

    /// Creates the failure of a list whose storage failed.
    init(_ error: StorageError) {
        self.init(.storage, FetchFailure(.storage, error.message, isRetryable: true), cause: error)
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
