/// The changes that one transaction made to one query. The positions in a change are those after the changes before it.
public struct ChangeSet: Hashable, Sendable {
    /// The query that changed.
    public var query: QueryID
    /// The list's version after the transaction. `nil` when the query was purged.
    public var version: ListVersion?
    /// The version of the content that readers see after the transaction (R51). `nil` when the query was purged. A
    /// transaction that changed only the ledger or a pin leaves it unchanged.
    public var contentVersion: ContentVersion?
    /// The changes, in order. A storage never publishes an empty array.
    public var changes: [Change]

    /// Creates a change set.
    public init(query: QueryID, version: ListVersion?, contentVersion: ContentVersion? = nil, changes: [Change]) {
        self.query = query
        self.version = version
        self.contentVersion = contentVersion
        self.changes = changes
    }

    /// Whether the transaction changed any item, or the position of any item (R6).
    public var changesItems: Bool { changes.contains(where: \.changesItems) }
}

extension ChangeSet {
    /// One change to a list.
    public enum Change: Hashable, Sendable {
        /// The query was registered.
        case registered
        /// These positions were not held before, and hold items now. The ledger drops the failures recorded for them.
        case stored(Range<Int>)
        /// Items were inserted, removed, moved or rewritten, and the items after them shifted.
        case rearranged(ListDifference)
        /// These positions are no longer held and became a gap. No other position moved.
        case dropped(Range<Int>)
        /// The origin reported the held items at these positions as unchanged (R6). Only their age changed, or the
        /// evidence of their seams.
        case confirmed(Range<Int>)
        /// The items at these positions no longer count as held. They stay readable until they are replaced.
        case markedStale(Range<Int>)
        /// The list began a new generation.
        case generationBegan
        /// The remaining pages of older generations were removed.
        case olderGenerationsDropped
        /// Positions from this one on no longer exist.
        case truncated(Int)
        /// The origin's statement about the list's length changed.
        case total(ListTotal)
        /// The end of the list changed. `nil` means that the end is unknown again (R24).
        case end(Int?)
        /// Page one was validated: the age of the list starts again.
        case validated
        /// The fetch records at these offsets changed, or an edit named them without effect.
        case ledger([Int])
        /// Another value of the query's record changed: paging, source, freshness, result window, sweep progress, last
        /// audit, pin, invalidation, `allowsDuplicates` or `isUnproven`.
        case described
        /// The query was purged, with everything that was stored for it.
        case purged

        /// Whether the change affects any item, or the position of any item (R6).
        public var changesItems: Bool {
            switch self {
            case .rearranged(let difference): !difference.isEmpty
            case .stored, .dropped, .markedStale, .generationBegan, .olderGenerationsDropped, .truncated, .purged: true
            case .registered, .confirmed, .total, .end, .validated, .ledger, .described: false
            }
        }
    }
}

extension ChangeSet.Change {
    /// Whether readers of the list can see the change, so that the commit gives the list another `ContentVersion`
    /// (R51). Only changes to fetch records are invisible. `PageStorage.setPinned` does not use this property: it
    /// announces `described` and leaves the version unchanged.
    package var isSeenByReaders: Bool {
        if case .ledger = self { false } else { true }
    }
}

/// A notice for an observer of a storage.
public enum StorageNotice: Hashable, Sendable {
    /// A transaction of this storage object made these changes.
    case changed(ChangeSet)
    /// These queries may have changed: another process wrote, or the observer was too slow for single notices. Read
    /// them again. The array may contain queries that did not change. It may omit a query that another process purged,
    /// unless that query is the observed one.
    case invalidated([QueryID])
}
