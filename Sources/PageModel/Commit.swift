/// All changes that follow from one fetched answer. A storage applies them in one transaction, or none of them (R1,
/// R4).
public struct CommitPlan: Hashable, Sendable {
    /// The query whose list the plan changes.
    public var query: QueryID
    /// The version that the plan was made for. If the stored list has another generation or revision, the storage
    /// applies no part of the plan (R4).
    public var version: ListVersion
    /// The list's length that the plan relies on; `nil` for a plan that does not rely on it. If the stored list has
    /// another length, the storage applies no part of the plan.
    public var expectedLength: ListExtent?
    /// Pages that the plan expects to be held unchanged. They prove the seams to the pages stored next to them (R21).
    /// If one of them is gone or has other items, the storage applies no part of the plan, even though no position has
    /// moved.
    public var preconditions: [PagePrecondition]
    /// The lease under which page one was requested, if the plan contains that answer. A list that was invalidated
    /// after the grant stays invalidated. `nil` or a stale token counts as a request from before the invalidation.
    public var requestLease: LeaseToken?
    /// The changes to the list, applied in order. The positions in an edit are those after the edits before it.
    public var edits: [ListEdit]
    /// The changes to the ledger, applied in order after the edits.
    public var ledger: [LedgerEdit]

    /// A plan for one list. Without edits and ledger changes it changes nothing.
    public init(
        query: QueryID, version: ListVersion, edits: [ListEdit] = [], ledger: [LedgerEdit] = [],
        requestLease: LeaseToken? = nil, expectedLength: ListExtent? = nil, preconditions: [PagePrecondition] = []
    ) {
        self.query = query
        self.version = version
        self.expectedLength = expectedLength
        self.preconditions = preconditions
        self.requestLease = requestLease
        self.edits = edits
        self.ledger = ledger
    }

    /// Whether the plan was made for the list in its current state (R4). The version has to be the same, and so does
    /// the length if the plan names one.
    package func isBased(on record: QueryRecord) -> Bool {
        version == record.version && (expectedLength == nil || expectedLength == record.extent)
    }

    /// Whether the plan sets another exact total that does not come from page one.
    package func bringsTotalBesidePageOne(before: ListTotal, after: ListTotal) -> Bool {
        guard case .exact(let count) = after else { return false }
        return before.count != count && !edits.contains(.validated)
    }

    /// Whether page one was requested after the list was invalidated. An invalidation in the future comes from a clock
    /// that was set back since (R29). Every request with a grant time counts as later than such an invalidation,
    /// because the list would otherwise stay invalidated.
    /// - Parameter grantedAt: the storage's time at which it granted the lease of the request. `nil` means that the
    ///   storage does not know it, and the result is false.
    package static func isAsked(_ grantedAt: Timestamp?, since invalidatedAt: Timestamp, now: Timestamp) -> Bool {
        guard let grantedAt else { return false }
        return invalidatedAt <= grantedAt || invalidatedAt > now
    }

    /// Whether the edits may move or remove ledger rows.
    package var movesLedgerRows: Bool {
        edits.contains { edit in
            switch edit {
            case .rearrange, .truncate: true
            default: false
            }
        }
    }
}

/// A page that a plan expects to be held with the same items as when the plan was made.
public struct PagePrecondition: Hashable, Sendable {
    /// The 0-based position of the page's first item.
    public var offset: Int
    /// The expected `PageSummary.fingerprint`.
    public var fingerprint: UInt64

    /// Creates a precondition.
    public init(offset: Int, fingerprint: UInt64) {
        self.offset = offset
        self.fingerprint = fingerprint
    }

    /// Whether the stored page fulfils the precondition. A missing page does not, and neither does a page of an older
    /// generation.
    /// - Parameter generation: the list's current generation.
    package func holds(of page: PageSummary?, generation: Int) -> Bool {
        page?.fingerprint == fingerprint && page?.generation == generation
    }
}

/// One change to a list.
public enum ListEdit: Hashable, Sendable {
    /// Stores a page where the list's generation holds no items. Items of older generations at the same positions are
    /// removed, and so are older pages that hold the same ids (R5, R19). A page that is held already, with the same
    /// items, is confirmed instead (R6).
    case insertPage(PageWrite)
    /// Rearranges the list in one step: removes, inserts and moves items, and opens gaps. Ledger rows move with their
    /// positions, and the validators of moved pages are removed (R1, R4). The seam before a kept piece becomes
    /// inferred. Small pages that result are joined with a neighbour, see `PageMerging`. A sweep that has passed the
    /// first change goes back to it. See also `splice`.
    case rearrange(Rearrangement)
    /// Marks seams as verified, because one answer contained the items at these positions in the held order. Pages that
    /// lie wholly within the range become as fresh as the answer (G1, R21).
    case markContiguous(Range<Int>)
    /// Confirms the page at this offset, because the origin reports it as unchanged (R6). Only its age changes, and its
    /// validator if `validator` is not `nil`.
    case touchPage(offset: Int, validator: Validator?)
    /// Begins a new generation. All held items stay readable as an older generation, but no longer count as held.
    case startGeneration
    /// Stops counting these positions as held. Their items stay readable until they are replaced.
    case markStale(Range<Int>)
    /// Removes the pages and ledger rows from this position on, because the positions do not exist at the origin.
    case truncate(at: Int)
    /// Removes the pages of older generations, once the list is proven to be replaced (R19).
    case dropOlderGenerations
    /// Sets the total that the origin reports. An exact total in a plan without `validated` does not come from page
    /// one, so the validator of page one does not cover it. A later "not modified" does not confirm it any more (R16).
    case setTotal(ListTotal)
    /// Sets the end of the list, the position after its last item. `nil` means that the end is unknown again (R24).
    case setEnd(Int?)
    /// Sets the end of the origin's result window. `nil` means that no window is known.
    case setResultWindow(Int?)
    /// Records that page one was validated now, so that the age of the list starts again. The list is no longer
    /// invalidated if page one was requested after the invalidation: see `CommitPlan.requestLease`.
    case validated
    /// Marks the list as invalidated: it is stale until page one has been fetched again. `QueryRecord.validatedAt`
    /// stays unchanged.
    case invalidated
    /// Sets how long the origin calls page one fresh, clamped to the range from 0 to one year. `nil` means that the
    /// origin states no lifetime.
    case setFreshFor(Duration?)
    /// Sets whether ids may repeat in this list (R25). While they may, the storage accepts pages with an id that is
    /// held already. The storage refuses `false` with `CommitOutcome.duplicates` if an id is held twice (R5).
    case setAllowsDuplicates(Bool)
    /// Sets whether the last run ended as unproven; see `QueryRecord.isUnproven`.
    case setUnproven(Bool)
    /// Sets the progress of the running sweep. `nil` means that the sweep is over (R31).
    case setSweep(SweepProgress?)
    /// Records that a sweep, or a round of the recheck, has ended now: every page of the list has been requested (R54).
    /// See `QueryRecord.lastAuditAt`.
    case audited
    /// Stores the origin's paging style, and the source's instructions for further requests.
    case describe(paging: String, source: String)
}

/// The result of a commit.
public enum CommitOutcome: Hashable, Sendable {
    /// The plan was applied. The list now has this version.
    case committed(ListVersion)
    /// The plan was not applied, because the list changed since the plan was made (R4). The value is the list's current
    /// version; for a purged query it is generation 0, revision 0. If the value equals the plan's version, the length
    /// differs, or a page in `preconditions` is not held as expected.
    case superseded(ListVersion)
    /// The plan was not applied, because the page would repeat held items or overlap held positions (R5). The ranges
    /// are those held positions, counted after the plan's earlier edits. After a splice of the same plan they differ
    /// from the positions in the stored list.
    case duplicates([Range<Int>])
}

/// Decides when a small page that a splice has left behind is joined with a neighbouring page (R17).
public enum PageMerging {
    /// A page with fewer items than this is joined: 16.
    public static let minimum = 16
    /// The largest size of a joined page in items, so that a splice never rewrites much: 128.
    public static let largest = 128

    /// Whether `left` is joined with the page `right` after it. The pages have to be neighbours of one generation. One
    /// of them has to be small, and the joined page must not exceed `largest`.
    public static func shouldJoin(_ left: PageSummary, _ right: PageSummary) -> Bool {
        guard left.count > 0, right.count > 0, left.range.upperBound == right.offset,
            left.generation == right.generation,
            left.count < minimum || right.count < minimum, left.count + right.count <= largest
        else { return false }
        // A joined page has no validator, so a page with a validator is not joined with the page after it. Page one
        // therefore keeps its validator, and a refresh can still be answered with "not modified". A join must not lose
        // the cursor to the next page.
        return left.validator == nil && (left.cursorOut == nil || right.cursorOut != nil)
    }
}
