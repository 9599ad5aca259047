/// Leases that somebody would like to have on pages that are about to be fetched (R30): who holds one says so to every other
/// process, and a crash leaves a record of what was in flight (R31).
public struct LeaseRequest: Hashable, Sendable {
    /// The pages, by the 0-based position of their first item.
    public var offsets: [Int]
    /// When a lease ends if its owner lives, and yet does not end it.
    public var expiry: Timestamp
    /// What of the list is told along with the grant, so that who plans by it need not read it again; nil: nothing.
    public var surroundings: Range<Int>?

    /// A request; each parameter is the property of its name. `surroundings` defaults to nil.
    public init(_ offsets: [Int], until expiry: Timestamp, telling surroundings: Range<Int>? = nil) {
        self.offsets = offsets
        self.expiry = expiry
        self.surroundings = surroundings
    }
}

/// What came of a ``LeaseRequest``.
public struct LeaseGrant: Hashable, Sendable {
    /// The offsets that were granted, in the order in which they were asked for; what is missing, a living owner has in flight.
    public var offsets: [Int]
    /// The list as far as the surroundings reach, as `PageStorage.excerpt` tells it, in the same transaction and after everything
    /// else in it. Nil when none were asked for, or the query is gone.
    public var list: ListOutline?

    /// A grant; each parameter is the property of its name.
    public init(offsets: [Int], list: ListOutline? = nil) {
        self.offsets = offsets
        self.list = list
    }
}

/// How a commit went, and what was granted with it.
public struct CommitReceipt: Hashable, Sendable {
    /// How the commit went.
    public var outcome: CommitOutcome
    /// Nil when no leases were asked for, and when the plan was not applied: then none were taken.
    public var grant: LeaseGrant?

    /// A receipt; each parameter is the property of its name.
    public init(_ outcome: CommitOutcome, grant: LeaseGrant? = nil) {
        self.outcome = outcome
        self.grant = grant
    }
}
