/// One kind of damage at one place in a store.
public struct Finding: Hashable, Sendable {
    /// The kind of damage. The raw value is the text that the tool prints.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// SQLite finds the file damaged, or the damage is in the header of the file, in its stamp or in a record of a
        /// migration.
        case file
        /// A query's record differs from what was stored, is lost, or has the key of another query.
        case query
        /// A page's record cannot be read, or differs from what was stored. The position in the finding may be wrong,
        /// because it was read from that record.
        case page
        /// A page's items differ from what was stored.
        case items
        /// A page's item hashes differ from what was stored. Its items are intact.
        case identity
        /// Two pages hold the same position (R5).
        case overlap
        /// Two pages hold the same item (R5).
        case duplicate
        /// Fetch records cannot be read, or a number in a fetch record or in the counter of lease tokens is impossible.
        case ledger
        /// The record of a list's changes or holdings differs from what was stored.
        case journal
        /// A number in a tally of the costs of runs is impossible.
        case tally
        /// The time of a page's last read is impossible.
        case access
        /// A row whose query, page or body does not exist.
        case orphan
    }

    /// The kind of damage.
    public var kind: Kind
    /// The affected list. `nil` means that the damage belongs to no single list.
    public var query: QueryID?
    /// The affected positions. `nil` means that they are not known.
    public var range: Range<Int>?
    /// One line for people. Contains no item data.
    public var message: String

    /// Creates a finding. `message` is for people, and must contain no item data.
    public init(_ kind: Kind, query: QueryID? = nil, range: Range<Int>? = nil, _ message: String) {
        self.kind = kind
        self.query = query
        self.range = range
        self.message = message
    }
}

/// The result of reading every row and every byte of a store.
public struct VerifyReport: Hashable, Sendable {
    /// The damage that was found. Empty when all data is as it was stored.
    public var findings: [Finding] = []
    /// The number of queries that were checked.
    public var queries = 0
    /// The number of pages that were checked.
    public var pages = 0
    /// The number of items in the checked pages.
    public var items = 0
    /// The bytes of the checked items, with their layout.
    public var bytes = 0

    /// Creates a report without findings.
    public init() {}

    /// Whether all data is as it was stored.
    public var isSound: Bool { findings.isEmpty }
}

/// The result of a repair.
public struct RepairReport: Hashable, Sendable {
    /// The damage before the repair.
    public var found: VerifyReport
    /// The damage after the repair. Empty when the store is sound again.
    public var remaining: VerifyReport
    /// The number of pages that were dropped. Their positions are gaps now, and are queued to be fetched again.
    public var pagesDropped = 0
    /// The number of queries that were removed because their names were damaged, or belonged to another query.
    public var queriesDropped = 0
    /// The number of repairs to data other than pages and queries: records, item hashes, journals, holdings, and numbers
    /// out of range. A repair that removes many rows at once, such as all orphans, can count as one.
    public var repaired = 0
    /// The path of the damaged file, if a new file with its readable rows has replaced it. The store is closed then.
    /// `nil` means that the file was repaired in place.
    public var replacedFile: String?
    /// The free bytes that a new file needs. Only a preview sets it.
    package var bytesNeeded: Int?
    /// The removed records of queries, as they were read. Their values are not proven.
    package var removed: [QueryRecord] = []
    /// The queries with a rebuilt record whose pin could not be read. They are not pinned now.
    package var pinsLost: [QueryKey] = []

    /// Creates a report.
    public init(found: VerifyReport, remaining: VerifyReport) {
        self.found = found
        self.remaining = remaining
    }
}
