/// What one transaction did to one query. Positions in a change are those that hold after the changes before it.
public struct ChangeSet: Hashable, Sendable {
    /// The list that it was done to.
    public var query: QueryID
    /// The list's version afterwards; nil when the query is gone.
    public var version: ListVersion?
    /// Which content readers see afterwards (R51); nil when the query is gone. A transaction that changed nothing but
    /// the ledger, or a pin, leaves it as it was.
    public var contentVersion: ContentVersion?
    /// What was done, in order; never empty when a storage tells it.
    public var changes: [Change]

    /// What one transaction did; each parameter is the property of its name.
    public init(query: QueryID, version: ListVersion?, contentVersion: ContentVersion? = nil, changes: [Change]) {
        self.query = query
        self.version = version
        self.contentVersion = contentVersion
        self.changes = changes
    }

    /// Whether any item, or the place of any item, is another than before (R6).
    public var changesItems: Bool { changes.contains(where: \.changesItems) }
}

/// One thing that happened to a list.
public enum Change: Hashable, Sendable {
    /// The query is new.
    case registered
    /// Items were written at these positions, which were not held before. Failures recorded for them are history.
    case stored(Range<Int>)
    /// Items came, went or moved, and what lies behind them moved along.
    case rearranged(ListDifference)
    /// These positions are no longer held, and nothing moved: a gap.
    case dropped(Range<Int>)
    /// The origin confirmed what is held here; no item changed, its age did (R6).
    case confirmed(Range<Int>)
    /// What is held here no longer counts as held; it stays readable until it is replaced.
    case demoted(Range<Int>)
    /// The list began a new generation.
    case generationBegan
    /// What was left of older generations is gone.
    case olderGenerationsDropped
    /// Positions from here on do not exist any more.
    case truncated(Int)
    /// What the origin says of the list's length is another now.
    case total(Total)
    /// Where the list ends is another now; nil: it is open again (R24).
    case end(Int?)
    /// The head was confirmed: the list's own age starts again.
    case validated
    /// The fetch records at these offsets changed.
    case ledger([Int])
    /// How the origin pages, how it is asked, for how long it calls page one fresh, whether ids repeat, a sweep's
    /// progress, a pin; or the list was invalidated.
    case described
    /// The query is gone, with all it held.
    case purged

    /// Whether any item, or the place of any item, is another than before (R6).
    public var changesItems: Bool {
        switch self {
        case .stored, .rearranged, .dropped, .demoted, .generationBegan, .olderGenerationsDropped, .truncated, .purged:
            true
        case .registered, .confirmed, .total, .end, .validated, .ledger, .described: false
        }
    }
}

extension Change {
    /// Whether readers of the list see it, so that the list gets another `ContentVersion` (R51): all but fetch records.
    package var isSeenByReaders: Bool {
        if case .ledger = self { false } else { true }
    }
}

/// What an observer of a storage is told.
public enum StorageNotice: Hashable, Sendable {
    /// A transaction of this very storage object did this.
    case changed(ChangeSet)
    /// These queries may have changed, by another process, or faster than the observer listened: read them again.
    /// Queries that did not change may be among them; one that was purged elsewhere may be missing when it is not the
    /// one observed.
    case mayHaveChanged([QueryID])
}
