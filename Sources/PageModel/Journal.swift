/// What one commit changed in the items of a list (R48).
///
/// A list in the sense of the journal is what counts as held: position by position an item, or none. Pages of older
/// generations are not in it.
public struct JournalEntry: Hashable, Sendable {
    /// The version that the commit gave the list.
    public var version: ContentVersion
    /// When the commit was made.
    public var at: Timestamp
    /// In order; positions in a change are those that hold after the changes before it. Empty where no item changed:
    /// then ages, evidence, the total or the end did.
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
    /// These positions were not held, and hold items now. Nothing moved.
    case loaded(Range<Int>)
    /// These positions are no longer held: they were evicted, damaged or demoted. Nothing moved, and the origin deleted
    /// nothing. The range may reach beyond what was held, and end at `Int.max`.
    case dropped(Range<Int>)
    /// Items were deleted, inserted, moved or edited, and what lies behind them moved along.
    case rearranged(JournalRearrangement)
    /// The list began a new generation (R19): no position is held any more.
    case generationBegan
}

/// Items that were deleted, inserted, moved or edited in one step.
///
/// The new list is the old one without `removed`, with places put in so that they have the positions of `added`. The
/// items at the added places are those of `inserted`, `moved` and `edited`; the other added places are not held. What
/// only shifts along with its neighbours is in none of the lists.
public struct JournalRearrangement: Hashable, Sendable {
    /// An item that the origin no longer has.
    public struct Deletion: Hashable, Sendable {
        /// Its position in the old list.
        public var position: Int
        /// Its id and its bytes.
        public var item: Item

        /// A deletion of this item.
        public init(position: Int, item: Item) {
            self.position = position
            self.item = item
        }
    }

    /// An item that the list did not hold at this step.
    public struct Insertion: Hashable, Sendable {
        /// Its position in the new list.
        public var position: Int
        /// Its id; nil where the origin gives none.
        public var id: String?
        /// What the id is at the origin.
        public var idType: IDType

        /// An insertion at this position.
        /// - Parameters:
        ///   - position: in the new list.
        ///   - id: nil where the origin gives none.
        ///   - idType: what the id is at the origin. Default: a string.
        public init(position: Int, id: String?, idType: IDType = .string) {
            self.position = position
            self.id = id
            self.idType = idType
        }
    }

    /// An item that stands elsewhere among its neighbours.
    public struct Move: Hashable, Sendable {
        /// Its position in the old list.
        public var from: Int
        /// Its position in the new list.
        public var to: Int
        /// Its id; nil where the origin gives none.
        public var id: String?
        /// What the id is at the origin.
        public var idType: IDType

        /// A move between these positions.
        /// - Parameters:
        ///   - from: in the old list.
        ///   - to: in the new list.
        ///   - id: nil where the origin gives none.
        ///   - idType: what the id is at the origin. Default: a string.
        public init(from: Int, to: Int, id: String?, idType: IDType = .string) {
            self.from = from
            self.to = to
            self.id = id
            self.idType = idType
        }
    }

    /// An item whose bytes changed. Where `from` is in `removed`, it moved as well.
    public struct Edit: Hashable, Sendable {
        /// Its position in the old list.
        public var from: Int
        /// Its position in the new list.
        public var to: Int
        /// Its id, and the bytes that it had before.
        public var before: Item

        /// An edit of an item that was this before.
        public init(from: Int, to: Int, before: Item) {
            self.from = from
            self.to = to
            self.before = before
        }
    }

    /// Positions of the old list that the new one does not have, ascending. The last range may end at `Int.max`.
    public var removed: [Range<Int>]
    /// Positions of the new list that the old one did not have, ascending.
    public var added: [Range<Int>]
    /// By position, ascending. An item of the old list in `removed` that is in none of the lists was not held.
    public var deleted: [Deletion]
    /// By position, ascending.
    public var inserted: [Insertion]
    /// By new position, ascending.
    public var moved: [Move]
    /// By new position, ascending.
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

    /// Where an old position is in the new list; nil when it is removed.
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

/// What a list's journal returns since a version (R48).
public enum ListChanges: Hashable, Sendable {
    /// The entries after that version, oldest first, and the version that they lead to. `hasMore` is true where the
    /// list has newer ones: ask again since `reached`.
    case entries([JournalEntry], reached: ContentVersion, hasMore: Bool)
    /// The journal does not reach back to that version, or the list never had it: a backup was restored, a clock or a
    /// counter began again (R51). Read the list anew; `current` is its version now.
    case truncated(current: ContentVersion)
}

/// How much a storage keeps of a list's journal.
///
/// What changed within ten minutes always stays, and so does the version before it. Older entries go, oldest first,
/// when the list's journal takes more than `bytes`; then until three quarters of it are left, so that most commits
/// remove nothing. A single commit that would take more than `bytes` is not recorded: readers begin anew.
public struct JournalBound: Hashable, Sendable {
    /// For how long an entry stays in any case: 10 minutes.
    public static let age = Duration.seconds(600)

    /// Bytes of one list's journal: ids, the bytes of deleted and edited items, and about 64 bytes an entry. 0….
    /// Default: 1 MiB.
    public var bytes: Int

    /// A bound of so many bytes a list.
    public init(bytes: Int = 1 << 20) { self.bytes = bytes }

}

/// Which entries of a journal are dropped to make room: a decision over its rows, oldest first.
///
/// An entry goes when the one after it is ten minutes old: until then a reader may ask for the changes since it.
package struct JournalPruning {
    private let target: Int
    private let now: Timestamp
    private var last: Int?
    /// What the journal takes once these entries are gone.
    package private(set) var kept: Int
    /// How many entries go.
    package private(set) var count = 0

    /// - Parameter kept: what the journal takes, with the entry that is being appended.
    package init(_ bound: JournalBound, kept: Int, at now: Timestamp) {
        target = bound.bytes / 4 * 3
        self.kept = kept
        self.now = now
    }

    /// Looks at the next entry.
    /// - Returns: whether the one before it goes; true for the first, which has none before it.
    package mutating func next(at moment: Timestamp, cost: Int) -> Bool {
        if let last {
            // An entry of the future is one of a clock that was set back (R29).
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
    /// About how many bytes it takes in a journal. Every storage counts alike.
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

extension Item {
    fileprivate var cost: Int { 16 + payload.count + (id?.utf8.count ?? 0) }
}

extension ListChanges {
    /// No more bytes of items than these are returned at once, one entry excepted.
    package static let mostBytes = 4 << 20

    /// Takes as many of the entries as one call returns.
    /// - Parameters:
    ///   - rest: the entries after `version`, oldest first; one more than `limit` is enough.
    ///   - version: the version that was asked for.
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
