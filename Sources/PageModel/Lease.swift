/// The number of one grant of a lease (R30). A storage never issues a number twice, so that a token excludes every
/// earlier holder of the page.
public struct LeaseToken: Hashable, Comparable, Sendable {
    /// The number.
    public var rawValue: Int64

    /// The token of this number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public static func < (left: LeaseToken, right: LeaseToken) -> Bool { left.rawValue < right.rawValue }
}

/// A name under which a caller takes leases and renews them together.
///
/// A storage adds the name of its process. A name therefore has to be unique only within one storage object.
public struct LeaseOwner: Hashable, Sendable {
    /// The name.
    public var name: String

    /// An owner of this name.
    public init(_ name: String) {
        self.name = name
    }

    /// The process as a whole.
    public static let process = LeaseOwner("")

    /// The name as a storage keeps it.
    /// - Parameter process: the storage's name for the process.
    package func stored(by process: String) -> String { name.isEmpty ? process : "\(process)/\(name)" }
}

/// A leased page, and the token of the grant.
public struct Lease: Hashable, Sendable {
    /// 0-based position of the page's first item at the time of the grant.
    public var offset: Int
    /// The token by which a `LedgerEdit` names this lease.
    public var token: LeaseToken

    /// A lease of this page.
    public init(offset: Int, token: LeaseToken) {
        self.offset = offset
        self.token = token
    }
}

/// A request for leases on pages that are about to be fetched (R30). A lease keeps other owners from fetching the page.
/// After a crash of the process, the leases show which pages were in flight (R31).
public struct LeaseRequest: Hashable, Sendable {
    /// The pages, by the 0-based position of their first item.
    public var offsets: [Int]
    /// The time after which a lease ends if its living owner neither ends nor renews it; more than 0.
    public var duration: Duration
    /// The owner of the leases.
    public var owner: LeaseOwner
    /// The positions whose outline the grant returns; `nil` means none.
    public var outlineRange: Range<Int>?

    /// A request for leases.
    /// - Parameters:
    ///   - offsets: the pages, by the 0-based position of their first item.
    ///   - duration: the length of a lease, by the storage's clock.
    ///   - owner: the owner of the leases. Defaults to the process as a whole.
    ///   - outlineRange: the positions whose outline the grant returns. Defaults to `nil`, which means none.
    public init(
        _ offsets: [Int], for duration: Duration, by owner: LeaseOwner = .process,
        includingOutline outlineRange: Range<Int>? = nil
    ) {
        self.offsets = offsets
        self.duration = duration
        self.owner = owner
        self.outlineRange = outlineRange
    }
}

/// The leases that a ``LeaseRequest`` obtained.
public struct LeaseGrant: Hashable, Sendable {
    /// The granted pages, in the order of the request. Each page that is left out is in flight under a living owner.
    /// Empty when the query has been purged.
    public var leases: [Lease]
    /// The storage's time of the grant. Not part of equality.
    public var grantedAt: Timestamp
    /// The outline of the request's `outlineRange`, read last in the same transaction. `nil` when the request names no
    /// range, or when the query has been purged.
    public var list: ListOutline?

    /// A grant of these leases.
    public init(_ leases: [Lease], at grantedAt: Timestamp, list: ListOutline? = nil) {
        self.leases = leases
        self.grantedAt = grantedAt
        self.list = list
    }

    /// The granted pages by offset, in the order of the request.
    public var offsets: [Int] { leases.map(\.offset) }

    public static func == (left: LeaseGrant, right: LeaseGrant) -> Bool {
        left.leases == right.leases && left.list == right.list
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(leases)
        hasher.combine(list)
    }
}

/// The result of a commit, and the leases that it took.
public struct CommitReceipt: Hashable, Sendable {
    /// The result of the commit.
    public var outcome: CommitOutcome
    /// The leases that the commit took. `nil` when the call requested none, and when the plan was not applied.
    public var grant: LeaseGrant?
    /// The tokens in the plan's ledger edits whose lease had been lost. Those edits changed no record (R30). Empty when
    /// the plan was not applied.
    public var lostLeases: Set<LeaseToken>

    /// A receipt of this outcome.
    public init(_ outcome: CommitOutcome, grant: LeaseGrant? = nil, lostLeases: Set<LeaseToken> = []) {
        self.outcome = outcome
        self.grant = grant
        self.lostLeases = lostLeases
    }
}
