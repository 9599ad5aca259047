/// Everything that one fetched answer changes, applied in one transaction or not at all (R1, R4).
public struct CommitPlan: Hashable, Sendable {
    /// The list that it changes.
    public var query: QueryID
    /// What the plan was made under. Another generation or revision in the store: nothing is applied (R4).
    public var version: ListVersion
    /// How long the plan takes the list for, where it rests on that; nil where it does not. Somebody has heard
    /// otherwise meanwhile: nothing is applied.
    public var extent: ListExtent?
    /// Pages that the plan takes to be held as they were when it was made; what is put beside them is proven by them
    /// (R21). One of them is gone, or has other items, though nothing has moved: nothing is applied.
    public var premises: [PagePremise]
    /// The lease under which page one was asked for, where the plan brings it. A list that was invalidated after the
    /// grant stays invalidated. `nil`, or a stale token, counts as asked for before the invalidation.
    public var askedUnder: LeaseToken?
    /// Applied in order; positions in an edit are those that hold after the edits before it.
    public var edits: [ListEdit]
    /// Applied after the edits, in order.
    public var ledger: [LedgerEdit]

    /// A plan for one list. Without edits and ledger it changes nothing.
    public init(
        query: QueryID, version: ListVersion, edits: [ListEdit] = [], ledger: [LedgerEdit] = [],
        askedUnder: LeaseToken? = nil, extent: ListExtent? = nil, premises: [PagePremise] = []
    ) {
        self.query = query
        self.version = version
        self.extent = extent
        self.premises = premises
        self.askedUnder = askedUnder
        self.edits = edits
        self.ledger = ledger
    }

    /// Whether the plan was made for the list as it is: it has the same version, and where that matters the same length
    /// (R4).
    package func isMade(for record: QueryRecord) -> Bool {
        version == record.version && (extent == nil || extent == record.extent)
    }

    /// Whether the list has another exact total afterwards, and not from page one.
    package func bringsTotalBesidePageOne(before: Total, after: Total) -> Bool {
        guard case .exact(let count) = after else { return false }
        return before.count != count && !edits.contains(.validated)
    }

    /// Whether page one, asked for at `grantedAt`, was asked for since the list was invalidated. An invalidation in the
    /// future is one of a clock that was set back since (R29): no answer would ever be newer.
    /// - Parameter grantedAt: the storage's time of the grant; `nil` when it is not known.
    package static func isAsked(_ grantedAt: Timestamp?, since invalidatedAt: Timestamp, now: Timestamp) -> Bool {
        guard let grantedAt else { return false }
        return invalidatedAt <= grantedAt || invalidatedAt > now
    }

    /// Whether its edits may move ledger rows, or remove them.
    package var movesLedgerRows: Bool {
        edits.contains { edit in
            switch edit {
            case .rearrange, .truncate: true
            default: false
            }
        }
    }
}

/// A page that a plan takes to be held with the items that it had.
public struct PagePremise: Hashable, Sendable {
    /// 0-based position of its first item.
    public var offset: Int
    /// `PageSummary.fingerprint`, as it was.
    public var fingerprint: UInt64

    /// A premise; each parameter is the property of its name.
    public init(offset: Int, fingerprint: UInt64) {
        self.offset = offset
        self.fingerprint = fingerprint
    }

    /// Whether it holds of the page that lies there, if one does.
    /// - Parameter generation: the list's.
    package func holds(of page: PageSummary?, generation: Int) -> Bool {
        page?.fingerprint == fingerprint && page?.generation == generation
    }
}

/// One change to a list.
public enum ListEdit: Hashable, Sendable {
    /// Stores a page where the list's generation holds nothing. What is left of older generations gives way to it: the
    /// items at the same positions, and pages that hold the same ids (R5, R19).
    case put(PageWrite)
    /// The list is laid out anew: items are taken out, put in, moved, and gaps opened, in one step. Ledger rows move
    /// along; validators of what moved are void (R1, R4). The seams between the pieces are inferred. Small pages that
    /// come about are joined with a neighbour, see `PageMerging`. A sweep under way goes back to the first change. See
    /// also `splice`.
    case rearrange(Rearrangement)
    /// One answer showed what is held at these positions, one behind the other, just as it is held: the seams between
    /// them are verified, and pages that lie wholly among them are as fresh as the answer (G1, R21).
    case verify(Range<Int>)
    /// The origin says the page at this offset is unchanged (R6): only its age moves, and its validator when a new
    /// one came.
    case confirm(offset: Int, validator: Validator?)
    /// The list starts a new life: everything held stays readable as the old run, and no longer counts as held.
    case beginGeneration
    /// These positions no longer count as held; their items stay readable until replaced.
    case demote(Range<Int>)
    /// Positions from here on do not exist at the origin: pages and ledger rows there are dropped.
    case truncate(at: Int)
    /// Pages of older generations are dropped: the list is proven replaced (R19).
    case dropOlderGenerations
    /// What the origin says about the list's length. An exact one that comes without `validated`, so not with page one,
    /// is not the one that a validator of page one covers: "not modified" does not confirm it any more (R16).
    case setTotal(Total)
    /// Where the list ends; nil re-opens it (R24).
    case setEnd(Int?)
    /// Where the origin's result window ends; `nil` means that no window is known.
    case setWindow(Int?)
    /// The head was confirmed now: the list's own age starts again. It is not invalidated any more, if the head was
    /// asked for since: see `CommitPlan.askedUnder`.
    case validated
    /// The list is not right any more, somebody knows: it is stale until page one has been had. When it was confirmed
    /// last stays as it is.
    case invalidated
    /// For how long the origin calls page one fresh, kept within 0 and a year; nil where it does not say.
    case setFreshFor(Duration?)
    /// Whether ids repeat in this list (R25). R5 is not enforced while they do. `false` is refused with
    /// `CommitOutcome.duplicates` where an id is held twice.
    case setAllowsDuplicates(Bool)
    /// How far the running sweep has come; nil when it is over (R31).
    case setSweep(SweepProgress?)
    /// How the origin pages, and how to ask it again.
    case describe(paging: String, source: String)
}

/// How a commit went.
public enum CommitOutcome: Hashable, Sendable {
    /// Applied; this is the version now.
    case committed(ListVersion)
    /// Not applied: the list has moved on since the plan was made, to this version (R4); where the version is the
    /// plan's own, to another length, or a page that the plan rests on is not what it was.
    case superseded(ListVersion)
    /// Not applied: the page would repeat items that the list holds at these positions (R5), or lie over them. The
    /// positions are those in the middle of the plan: behind a splice of the same plan they are not the list's.
    case duplicates([Range<Int>])
}

/// When small pages, left over by splices, are joined with their neighbour (R17).
public enum PageMerging {
    /// A page with fewer items than this is joined.
    public static let minimum = 16
    /// Joined pages do not grow beyond this many items, so that a splice never rewrites much.
    public static let largest = 128

    /// Whether a page and the one behind it become one.
    public static func shouldJoin(_ left: PageSummary, _ right: PageSummary) -> Bool {
        guard left.count > 0, right.count > 0, left.range.upperBound == right.offset,
            left.generation == right.generation,
            left.count < minimum || right.count < minimum, left.count + right.count <= largest
        else { return false }
        // The head keeps its validator, and with it the cheap refresh; and no way on is lost.
        return left.validator == nil && (left.cursorOut == nil || right.cursorOut != nil)
    }
}
