/// The number of one grant of a lease (R30). A storage never gives a number twice, so a token fences off every earlier
/// holder of the page.
public struct LeaseToken: Hashable, Comparable, Sendable {
    /// The number.
    public var rawValue: Int64

    /// The token of this number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public static func < (left: LeaseToken, right: LeaseToken) -> Bool { left.rawValue < right.rawValue }
}

/// A name under which leases are taken and renewed together.
///
/// A storage adds the name of its process, so that a name need be unique only within one storage object.
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

/// A page that was leased, and the token of the grant.
public struct Lease: Hashable, Sendable {
    /// 0-based position of the page's first item, as it was when the lease was granted.
    public var offset: Int
    /// The token that ends, renews or fails this lease.
    public var token: LeaseToken

    /// A lease of this page.
    public init(offset: Int, token: LeaseToken) {
        self.offset = offset
        self.token = token
    }
}

/// Asks for leases on pages that are about to be fetched (R30). A lease keeps other owners from fetching the page, and
/// leaves a record of the pages in flight when the process crashes (R31).
public struct LeaseRequest: Hashable, Sendable {
    /// The pages, by the 0-based position of their first item.
    public var offsets: [Int]
    /// How long a lease lasts if its owner lives and neither ends nor renews it. More than 0.
    public var duration: Duration
    /// Who takes the leases.
    public var owner: LeaseOwner
    /// The positions whose outline the grant returns; `nil` means none.
    public var surroundings: Range<Int>?

    /// A request for leases.
    /// - Parameters:
    ///   - offsets: the pages, by the 0-based position of their first item.
    ///   - duration: how long a lease lasts, by the storage's clock.
    ///   - owner: the owner of the leases. Defaults to the process as a whole.
    ///   - surroundings: the positions whose outline the grant returns. Defaults to nil, which means none.
    public init(
        _ offsets: [Int], for duration: Duration, by owner: LeaseOwner = .process,
        telling surroundings: Range<Int>? = nil
    ) {
        self.offsets = offsets
        self.duration = duration
        self.owner = owner
        self.surroundings = surroundings
    }
}

/// The leases that a ``LeaseRequest`` got.
public struct LeaseGrant: Hashable, Sendable {
    /// The pages that were granted, in the order of the request. A living owner has each missing page in flight.
    public var leases: [Lease]
    /// The storage's time of the grant. Not part of equality.
    public var grantedAt: Timestamp
    /// The outline of the request's surroundings, read in the same transaction after everything else in it. `nil` when
    /// none were asked for, or the query is gone.
    public var list: ListOutline?

    /// A grant of these leases.
    public init(_ leases: [Lease], at grantedAt: Timestamp, list: ListOutline? = nil) {
        self.leases = leases
        self.grantedAt = grantedAt
        self.list = list
    }

    /// The pages that were granted, in the order of the request.
    public var offsets: [Int] { leases.map(\.offset) }

    public static func == (left: LeaseGrant, right: LeaseGrant) -> Bool {
        left.leases == right.leases && left.list == right.list
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(leases)
        hasher.combine(list)
    }
}

/// How a commit went, and the leases that came with it.
public struct CommitReceipt: Hashable, Sendable {
    /// How the commit went.
    public var outcome: CommitOutcome
    /// The leases that the commit took. `nil` when none were asked for, and when the plan was not applied.
    public var grant: LeaseGrant?
    /// The tokens in the plan's ledger edits whose lease had been lost. Those edits changed nothing (R30). Empty when
    /// the plan was not applied.
    public var lostLeases: Set<LeaseToken>

    /// A receipt of this outcome.
    public init(_ outcome: CommitOutcome, grant: LeaseGrant? = nil, lostLeases: Set<LeaseToken> = []) {
        self.outcome = outcome
        self.grant = grant
        self.lostLeases = lostLeases
    }
}
