/// The changes that one commit made to the items of a list (R48).
///
/// For the journal, only items that count as held belong to the list. A position with an item of an older generation
/// counts as a position without an item.
public struct JournalEntry: Hashable, Sendable {
    /// The version that the commit gave the list.
    public var version: ContentVersion
    /// The time of the commit.
    public var at: Timestamp
    /// The changes, in order. The positions in a change are those after the changes before it. An empty array means
    /// that no item changed, but for example an age, the evidence of a seam, the total or the end.
    public var changes: [JournalChange]

    /// An entry of these changes.
    public init(version: ContentVersion, at: Timestamp, changes: [JournalChange]) {
        self.version = version
        self.at = at
        self.changes = changes
    }
}

/// One step from the list before a commit to the list after it.
public enum JournalChange: Hashable, Sendable {
    /// These positions were not held, and hold items now. No other position moved.
    case loaded(Range<Int>)
    /// These positions are no longer held, because their items were evicted, damaged or marked stale. No other position
    /// moved, and the origin deleted no item. The range may reach beyond the held positions, and end at `Int.max`.
    case dropped(Range<Int>)
    /// Items were deleted, inserted, moved or edited, and the items after them shifted.
    case rearranged(JournalRearrangement)
    /// The list began a new generation (R19): no position is held any more.
    case generationBegan
}

/// Items that were deleted, inserted, moved or edited in one step.
///
/// To get the new list, take the positions in `removed` out of the old list. Then insert the positions in `added`,
/// counted in the new list. The items at added positions are those of `inserted`, `moved` and `edited`; the other added
/// positions are not held. Items that only shift along with their neighbours are in none of the arrays.
public struct JournalRearrangement: Hashable, Sendable {
    /// An item that the origin no longer has.
    public struct Deletion: Hashable, Sendable {
        /// The item's position in the old list.
        public var position: Int
        /// The item's id and its bytes.
        public var item: RawItem

        /// A deletion of this item.
        public init(position: Int, item: RawItem) {
            self.position = position
            self.item = item
        }
    }

    /// An item that the list did not hold before this step.
    public struct Insertion: Hashable, Sendable {
        /// The item's position in the new list.
        public var position: Int
        /// The item's id; `nil` if the origin gives none.
        public var id: String?
        /// The type of the item's id at the origin.
        public var idType: IDType

        /// An insertion at this position.
        /// - Parameters:
        ///   - position: the position in the new list.
        ///   - id: the item's id; `nil` if the origin gives none.
        ///   - idType: the type of the id at the origin. Defaults to a string.
        public init(position: Int, id: String?, idType: IDType = .string) {
            self.position = position
            self.id = id
            self.idType = idType
        }
    }

    /// An item whose place among its neighbours changed.
    public struct Move: Hashable, Sendable {
        /// The item's position in the old list.
        public var from: Int
        /// The item's position in the new list.
        public var to: Int
        /// The item's id; `nil` if the origin gives none.
        public var id: String?
        /// The type of the item's id at the origin.
        public var idType: IDType

        /// A move between these positions.
        /// - Parameters:
        ///   - from: the position in the old list.
        ///   - to: the position in the new list.
        ///   - id: the item's id; `nil` if the origin gives none.
        ///   - idType: the type of the id at the origin. Defaults to a string.
        public init(from: Int, to: Int, id: String?, idType: IDType = .string) {
            self.from = from
            self.to = to
            self.id = id
            self.idType = idType
        }
    }

    /// An item whose bytes changed. If `from` is in `removed`, the item moved as well.
    public struct Edit: Hashable, Sendable {
        /// The item's position in the old list.
        public var from: Int
        /// The item's position in the new list.
        public var to: Int
        /// The item's id, and its bytes before the edit.
        public var before: RawItem

        /// An edit of an item; `before` is the item in its old form.
        public init(from: Int, to: Int, before: RawItem) {
            self.from = from
            self.to = to
            self.before = before
        }
    }

    /// Positions of the old list that the new list does not have, ascending. The last range may end at `Int.max`.
    public var removed: [Range<Int>]
    /// Positions of the new list that the old list did not have, ascending.
    public var added: [Range<Int>]
    /// Deleted items by position, ascending. An old position in `removed` without an entry in any of the arrays was not
    /// held.
    public var deleted: [Deletion]
    /// Inserted items by position, ascending.
    public var inserted: [Insertion]
    /// Moved items by new position, ascending.
    public var moved: [Move]
    /// Edited items by new position, ascending.
    public var edited: [Edit]

    /// A rearrangement of these parts.
    public init(
        removed: [Range<Int>] = [], added: [Range<Int>] = [], deleted: [Deletion] = [], inserted: [Insertion] = [],
        moved: [Move] = [], edited: [Edit] = []
    ) {
        self.removed = removed
        self.added = added
        self.deleted = deleted
        self.inserted = inserted
        self.moved = moved
        self.edited = edited
    }

    /// Returns the new position of an old position; `nil` when it was removed.
    public func newPosition(of old: Int) -> Int? {
        var position = old
        for range in removed {
            if range.contains(old) { return nil }
            guard range.upperBound <= old else { break }
            position -= range.count
        }
        for range in added where range.lowerBound <= position { position += range.count }
        return position
    }
}

/// The changes of a list since a version, as its journal returns them (R48).
public enum ListChanges: Hashable, Sendable {
    /// The entries after the requested version, oldest first, and the version that they lead to. `hasMore` means that
    /// the journal has newer entries: request the changes since `reached`.
    case entries([JournalEntry], reached: ContentVersion, hasMore: Bool)
    /// The journal does not reach back to the requested version, or the list never had that version. A restored backup
    /// can cause the latter (R51). Read the whole list again; `current` is its present version.
    case truncated(current: ContentVersion)
}

/// The limit on the size of a list's journal.
///
/// Changes of the last ten minutes stay, and so does the entry before them, unless a single commit exceeds `bytes`.
/// Such a commit is not recorded, and readers have to read the list again. When the journal of a list exceeds `bytes`,
/// older entries are removed, oldest first. Removal stops at three quarters of `bytes`, so that most commits remove no
/// entry.
public struct JournalBound: Hashable, Sendable {
    /// The time for which an entry stays: 10 minutes.
    public static let age = Duration.seconds(600)

    /// The most bytes of one list's journal; 0 or more. Ids, the bytes of deleted and edited items, and about 64 bytes
    /// for each entry count. Defaults to 1 MiB.
    public var bytes: Int

    /// A bound of this many bytes for each list.
    public init(bytes: Int = 1 << 20) { self.bytes = bytes }

}

/// Chooses the journal entries to drop, from the entries in their order, oldest first.
///
/// An entry is dropped only when the entry after it is ten minutes old. Until then, a reader may request the changes
/// since the older entry.
package struct JournalPruning {
    private let target: Int
    private let now: Timestamp
    private var last: Int?
    /// The size of the journal without the dropped entries.
    package private(set) var kept: Int
    /// The number of dropped entries.
    package private(set) var count = 0

    /// - Parameter kept: the size of the journal, including the entry that is being appended.
    package init(_ bound: JournalBound, kept: Int, at now: Timestamp) {
        target = bound.bytes / 4 * 3
        self.kept = kept
        self.now = now
    }

    /// Considers the next entry.
    /// - Returns: true when the entry before this one is dropped. Also true for the first entry.
    package mutating func next(at moment: Timestamp, cost: Int) -> Bool {
        if let last {
            // An entry from the future was written before the clock was set back (R29).
            let isOld = now - moment >= JournalBound.age || moment - now > JournalBound.age
            guard kept > target, isOld else { return false }
            kept -= min(max(last, 0), kept)
            count += 1
        }
        last = cost
        return true
    }
}

extension JournalEntry {
    /// The approximate size of the entry in a journal, in bytes. All storages count alike.
    package var cost: Int { changes.reduce(64) { $0 + $1.cost } }
}

extension JournalChange {
    package var cost: Int {
        guard case .rearranged(let parts) = self else { return 16 }
        return 16 + 16 * (parts.removed.count + parts.added.count) + parts.deleted.reduce(0) { $0 + $1.item.cost }
            + parts.edited.reduce(0) { $0 + $1.before.cost }
            + parts.inserted.reduce(0) { $0 + 16 + ($1.id?.utf8.count ?? 0) }
            + parts.moved.reduce(0) { $0 + 16 + ($1.id?.utf8.count ?? 0) }
    }
}

extension RawItem {
    fileprivate var cost: Int { 16 + payload.count + (id?.utf8.count ?? 0) }
}

extension ListChanges {
    /// The most bytes of items that one call returns: 4 MiB. A single entry may exceed it.
    package static let mostBytes = 4 << 20

    /// Returns as many of the entries as one call may return.
    /// - Parameters:
    ///   - rest: the entries after `version`, oldest first; one more than `limit` is enough.
    ///   - version: the version that the caller passed.
    ///   - limit: the most entries to return.
    package static func page(_ rest: some Sequence<JournalEntry>, since version: ContentVersion, limit: Int)
        -> ListChanges
    {
        var entries: [JournalEntry] = []
        var bytes = 0
        for entry in rest {
            guard entries.count < limit, entries.isEmpty || bytes + entry.cost <= mostBytes else {
                return .entries(entries, reached: entries.last?.version ?? version, hasMore: true)
            }
            bytes += entry.cost
            entries.append(entry)
        }
        return .entries(entries, reached: entries.last?.version ?? version, hasMore: false)
    }
}
