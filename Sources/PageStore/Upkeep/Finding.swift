public import PageModel

/// Something in a store that is not as it must be.
public struct Finding: Hashable, Sendable {
    /// What is not as it must be. The raw value is what the tool prints.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// SQLite itself finds the file damaged.
        case file
        /// A query's record is not what was stored.
        case query
        /// A page's record is not what was stored; its position can only be guessed.
        case page
        /// A page's items are not what was stored.
        case items
        /// A page's item hashes are not what was stored; its items are whole.
        case identity
        /// Two pages hold the same position (R5).
        case overlap
        /// Two pages hold the same item (R5).
        case duplicate
        /// A fetch record says impossible things.
        case ledger
        /// The record of a list's changes is not what was stored.
        case journal
        /// A tally of what runs have cost says impossible things.
        case tally
        /// The time of a page's last reading is impossible.
        case access
        /// A row that nothing leads to.
        case orphan
    }

    /// What is not as it must be.
    public var kind: Kind
    /// The list it concerns, if it concerns one.
    public var query: QueryID?
    /// The positions it concerns, as far as they are known.
    public var range: Range<Int>?
    /// One line for people; never item data.
    public var message: String

    /// A finding; `message` is for people, and names no item data.
    public init(_ kind: Kind, query: QueryID? = nil, range: Range<Int>? = nil, _ message: String) {
        self.kind = kind
        self.query = query
        self.range = range
        self.message = message
    }
}

/// What a look at every row and every byte of a store found.
public struct VerifyReport: Hashable, Sendable {
    /// Empty when everything is as it was stored.
    public var findings: [Finding] = []
    /// What was looked at.
    public var queries = 0
    /// Pages that were looked at.
    public var pages = 0
    /// Items in them.
    public var items = 0
    /// Bytes of those items.
    public var bytes = 0

    /// A look that has found nothing yet.
    public init() {}

    /// Whether everything is as it was stored.
    public var isSound: Bool { findings.isEmpty }
}

/// What a repair did.
public struct RepairReport: Hashable, Sendable {
    /// What was found before.
    public var found: VerifyReport
    /// What is still wrong afterwards; empty when the store is sound again.
    public var left: VerifyReport
    /// Pages that were dropped. Their positions are gaps now, and queued to be fetched again.
    public var pagesDropped = 0
    /// Queries that were removed because not even their names were whole.
    public var queriesDropped = 0
    /// Records and hashes that were made anew from what is whole.
    public var mended = 0
    /// Where the damaged file is now, if its readable rows were written to a new file, which has taken its place. The
    /// store is closed then. `nil` means that the file was mended in place.
    public var replacedFile: String?

    /// A repair between two looks; each parameter is the property of its name.
    public init(found: VerifyReport, left: VerifyReport) {
        self.found = found
        self.left = left
    }
}
