public import PageModel

/// One immutable, consistent view of a list: what there is, what is missing, how old it is, and what is being done
/// about it (R12, R39).
///
/// What there is and what is being done are two things: a list full of items whose refresh has just failed is full
/// *and* failed.
public struct ListSnapshot<Value: Sendable>: Sendable {
    /// A stretch of positions whose items can be read.
    public struct Run: Sendable {
        /// Position of the first item.
        public var offset: Int
        /// The items, by position.
        public var items: PagedItems<Value>
        /// Whether it belongs to the list as it is; otherwise it is left from before, and readable until it is replaced
        /// (R19).
        public var isHeld: Bool

        /// The positions of its items.
        public var range: Range<Int> { offset..<offset + items.count }
    }

    /// What the list is doing.
    public enum Activity: Hashable, Sendable {
        /// Nothing.
        case idle
        /// Page one, of a list of which nothing is held.
        case loadingFirst
        /// Page one, of a list of which something is held.
        case refreshing
        /// The page behind what is held.
        case loadingNext
        /// Everything that is missing.
        case loadingAll
    }

    /// The items from the first position on, up to the first gap.
    public var items: PagedItems<Value>
    /// Everything that can be read, by position; the first run is `items` when it begins at position 0.
    public var runs: [Run]
    /// The positions that are known to be missing.
    public var gaps: [Range<Int>]
    /// What the origin says of the list's length.
    public var total: Total
    /// Where the list ends; nil while nobody knows.
    public var end: Int?
    /// How many pages `items` was fetched in.
    public var pagesLoaded: Int
    /// Whether something comes, or may come, behind `items`.
    public var hasMore: Bool
    /// When the origin last confirmed page one; nil when it was never had (R11).
    public var validatedAt: Timestamp?
    /// The age of the list by the policy; nil when it was never had.
    public var freshness: Freshness?
    /// What the list is doing just now.
    public var activity: Activity
    /// What failed last, until the retry starts (R37).
    public var failure: ListFailure?
    /// Pages whose fetch failed, of the whole list.
    public var failingPages: Int
    /// Neighbours that are believed, and were not seen, to be neighbours (G1).
    public var inferredSeams: Int
    /// Positions that are held, and whose bytes cannot be used: damaged, or not decodable any more (R7). They are left
    /// out of `items`, and fetched again.
    public var unusable: [Range<Int>]
    /// Whether ids repeat in this list, so that it is read and not compared (R25).
    public var allowsDuplicates: Bool
    /// Whether everything in it is in the storage. False where the origin forbids to keep answers (`no-store`): some or
    /// all of the items are then in memory only, for as long as this process holds the list; nobody else sees them, and
    /// they come again only from the origin. With page one among them the list is `stale` at once.
    public var isKept: Bool
    /// The version of the list that it was read of.
    public var version: ListVersion

    /// A list of which nothing is known; for previews and tests, to be filled in.
    public init() {
        items = PagedItems()
        runs = []
        gaps = []
        total = .unknown
        end = nil
        pagesLoaded = 0
        hasMore = true
        validatedAt = nil
        freshness = nil
        activity = .idle
        failure = nil
        failingPages = 0
        inferredSeams = 0
        unusable = []
        allowsDuplicates = false
        isKept = true
        version = ListVersion(generation: 0, revision: 0)
    }

    /// Whether page one was ever had.
    public var isLoaded: Bool { validatedAt != nil }
    /// Whether the list ends with `items`.
    public var isAtEnd: Bool { isLoaded && !hasMore }
    /// Whether anything is under way.
    public var isLoading: Bool { activity != .idle }
    /// Whether the page behind what is held is under way.
    public var isLoadingNext: Bool { activity == .loadingNext }

    /// What a screen shows of it.
    public var displayState: DisplayState {
        guard items.isEmpty else {
            if activity == .loadingNext || activity == .loadingAll { return .loadingNext }
            if let failure { return failure.kind == .next ? .nextFailed(failure) : .refreshFailed(failure) }
            return activity == .refreshing ? .refreshing : .items
        }
        if activity != .idle { return .loadingFirst }
        if let failure { return .firstFailed(failure) }
        return isLoaded ? .empty : .nothing
    }
}

/// What a screen shows of a list; derived from a snapshot, never kept beside it.
public enum DisplayState: Hashable, Sendable {
    /// Never asked for.
    case nothing
    /// The origin says that there is nothing.
    case empty
    /// Items, and nothing under way.
    case items
    /// Nothing to show yet.
    case loadingFirst
    /// Nothing to show, since page one could not be had.
    case firstFailed(ListFailure)
    /// Items, and page one under way.
    case refreshing
    /// Items, and page one could not be had anew.
    case refreshFailed(ListFailure)
    /// Items, and more under way.
    case loadingNext
    /// Items, and the page behind them could not be had.
    case nextFailed(ListFailure)
}
