public import PageModel

/// An immutable, consistent view of a list: its items, gaps, age and activity (R12, R39).
///
/// Content and activity are independent. A list can hold all its items although its last refresh failed.
public struct ListSnapshot<Value: Sendable>: Sendable {
    /// A stretch of positions whose items can be read.
    public struct Segment: Sendable {
        /// The position of the first item.
        public var offset: Int
        /// The items, by position.
        public var items: PagedItems<Value>
        /// Whether the items are held: they belong to the current generation of the list. False for items of an earlier
        /// generation and for items that are marked stale. These stay readable until they are replaced (R19).
        public var isHeld: Bool

        /// The positions of the items.
        public var range: Range<Int> { offset..<offset + items.count }
    }

    /// The loading activity of a list.
    public enum Activity: Hashable, Sendable {
        /// No activity.
        case idle
        /// Page one is being fetched for the first time.
        case loadingFirst
        /// Page one of a loaded list is being fetched again.
        case refreshing
        /// The page after the held items is being fetched.
        case loadingNext
        /// All missing pages are being fetched.
        case loadingAll
    }

    /// The items from position 0 up to the first gap, in order. Items that do not decode are left out, or replaced by a
    /// placeholder, as `ItemCodec.undecodable` says. If none of the items before a gap decodes, `items` begins after
    /// the gap, and `hasMore` is true. The index of an item is its position unless items were left out; see
    /// `position(ofItem:)`.
    public var items: PagedItems<Value>
    /// The position after the last item of `items`, counting the items that are left out because they do not decode.
    public var itemsEnd: Int
    /// All readable items, by position, also those after gaps.
    public var segments: [Segment]
    /// The positions that are known to be missing.
    public var gaps: [Range<Int>]
    /// The length of the list, as the origin states it. If more items are held, an estimate with their number.
    public var total: ListTotal
    /// The position at which the list ends. `nil` means unknown.
    public var end: Int?
    /// The number of pages that contain `items`.
    public var pagesLoaded: Int
    /// Whether more items follow, or may follow, after `items`, or are missing before them.
    public var hasMore: Bool
    /// When page one was last validated, by the storage's clock (R52). `nil` means that page one was never fetched
    /// (R11).
    public var validatedAt: Timestamp?
    /// The freshness of the list by `PagedListOptions.freshness`. `nil` means that page one was never fetched.
    public var freshness: Freshness?
    /// The current activity of the list.
    public var activity: Activity
    /// The last failure, until its retry starts (R37). `nil` means that no failure is shown.
    public var failure: ListFailure?
    /// The number of pages in the whole list whose fetch failed.
    public var failingPages: Int
    /// The number of neighbouring pairs of items whose adjacency is inferred, because no single answer showed both
    /// items (G1).
    public var inferredSeams: Int
    /// Whether `PagedListOptions.itemLimit` cuts the list off. `ListRepository.page` returns the items after the limit.
    public var isAtItemLimit: Bool
    /// Positions without a value in `segments`, because their bytes are damaged or do not decode (R7). They are fetched
    /// again once.
    public var unusable: [Range<Int>]
    /// Held positions whose bytes do not decode (R7). `items` leaves them out, contains placeholders for them, or ends
    /// before the first of them, as `ItemCodec.undecodable` says.
    public var undecodable: [Range<Int>]
    /// The held items of the storage that do not decode, in order.
    var undecodableItems: [UndecodableItem]
    /// The held positions among `unusable` whose bytes are damaged.
    var damaged: [Range<Int>]
    /// The position at which `items` begins. Larger than 0 only if `items` begins after a gap.
    private(set) var itemsBegin: Int
    /// The position after the segment that begins at position 0. The next page is fetched for this position.
    private(set) var headEnd: Int
    /// Whether ids repeat in this list. When page one of such a list has changed, the whole list is read again (R25).
    public var allowsDuplicates: Bool
    /// Whether all items are in the storage. False when the origin forbids storing its answers (`no-store`), and for an
    /// ephemeral list. Some or all of the items are then in memory only, while this process uses the list. No other
    /// process sees these items. When page one is among them, the list is `stale` at once.
    public var isStored: Bool
    /// The version of the list that was read.
    public var version: ListVersion

    /// Creates a snapshot of a list that was never loaded. Set its properties in previews and tests.
    public init() {
        items = PagedItems()
        itemsEnd = 0
        segments = []
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
        isAtItemLimit = false
        unusable = []
        undecodable = []
        undecodableItems = []
        damaged = []
        itemsBegin = 0
        headEnd = 0
        allowsDuplicates = false
        isStored = true
        version = ListVersion(generation: 0, revision: 0)
    }

    /// Whether page one was ever fetched.
    public var isLoaded: Bool { validatedAt != nil }
    /// Whether the list ends with `items`.
    public var isAtEnd: Bool { isLoaded && !hasMore }
    /// Whether a load is under way.
    public var isLoading: Bool { activity != .idle }
    /// Whether the page after the held items is being fetched.
    public var isLoadingNext: Bool { activity == .loadingNext }

    /// Whether the origin counts items and has returned none.
    var isVoid: Bool { holdsNothing && total.count ?? 0 > 0 && gaps.isEmpty }
    /// Whether the origin has returned no items, and does not count any, and the list has not ended.
    var isEmptyWithMore: Bool { holdsNothing && hasMore && total.count ?? 0 == 0 && gaps.isEmpty }
    /// Whether the list continues after held items, none of which decodes.
    var isUndecodableWithMore: Bool {
        isLoaded && items.isEmpty && hasMore && !undecodable.isEmpty && damageAtEnd == nil && !isAtItemLimit
    }
    private var holdsNothing: Bool {
        isLoaded && unusable.isEmpty && undecodable.isEmpty && !segments.contains { $0.isHeld }
    }

    /// The held positions with damaged bytes at which the head segment ends. `nil` means that the head segment does not
    /// end at damaged bytes.
    var damageAtEnd: Range<Int>? { damaged.first { $0.contains(headEnd) } }

    /// Returns the position in the list of an item in `items`.
    /// - Parameter index: the index of the item in `items`.
    public func position(ofItem index: Int) -> Int {
        // Only items without a value are left out of `items`.
        var position = itemsBegin + index
        for range in unusable where range.lowerBound >= itemsBegin && range.lowerBound <= position {
            position += range.count
        }
        return position
    }

    /// The state that a screen shows.
    public var displayState: DisplayState {
        guard items.isEmpty else {
            if activity == .loadingNext || activity == .loadingAll { return .loadingNext }
            if let failure { return failure.kind == .next ? .nextFailed(failure) : .refreshFailed(failure) }
            return activity == .refreshing ? .refreshing : .items
        }
        if activity != .idle { return .loadingFirst }
        if let failure { return .firstFailed(failure) }
        guard isLoaded else { return .nothing }
        if !unusable.isEmpty { return .unusable }
        return hasMore || total.count ?? 0 > itemsEnd ? .nothing : .empty
    }
}

/// The state of a screen that shows a list. It is derived from a snapshot and never stored next to it.
public enum DisplayState: Hashable, Sendable {
    /// No items are known: the list was never loaded, or was loaded without items although the origin reports more. A
    /// load fetches them.
    case nothing
    /// The origin answered without items, and without evidence of more.
    case empty
    /// Items are stored, and none of them can be shown: no held item decodes, or the first bytes are damaged. If
    /// `ListSnapshot.hasMore` is true, `loadNext()` loads the next page, whose items may decode.
    case unusable
    /// Items are shown, and no load is under way.
    case items
    /// No items are shown yet, and a load is under way.
    case loadingFirst
    /// No items are shown, because the load failed. `PagedList.retry()` repeats the request that failed.
    case firstFailed(ListFailure)
    /// Items are shown, and page one is being fetched.
    case refreshing
    /// Items are shown, and the refresh of page one or the storage failed.
    case refreshFailed(ListFailure)
    /// Items are shown, and more items are being fetched.
    case loadingNext
    /// Items are shown, and the page after them failed to load.
    case nextFailed(ListFailure)
}

extension ListSnapshot {
    /// Sets `items` and its positions from the segments. If no item before the first gap decodes, `items` has the items
    /// after the gap. Otherwise a screen would show no row, and so no row could appear and request the next page.
    /// - Parameter skipped: held positions that `items` leaves out, ascending.
    mutating func collectItems(skipping skipped: [Range<Int>]) {
        items = PagedItems()
        (itemsBegin, itemsEnd) = (0, 0)
        var skipped = skipped[...]
        var rest = segments[...]
        collect(&rest, &skipped)
        headEnd = itemsEnd
        guard items.isEmpty, headEnd > 0, damageAtEnd == nil else { return }
        rest = rest.drop { !$0.isHeld }
        guard let first = rest.first else { return }
        skipped = skipped.drop { $0.lowerBound < first.offset }
        (itemsBegin, itemsEnd) = (first.offset, first.offset)
        collect(&rest, &skipped)
    }

    /// Appends the held items from `itemsEnd` up to the next gap.
    private mutating func collect(_ rest: inout ArraySlice<Segment>, _ skipped: inout ArraySlice<Range<Int>>) {
        while true {
            if let segment = rest.first, segment.isHeld, segment.offset == itemsEnd {
                items.append(contentsOf: segment.items)
                itemsEnd = segment.range.upperBound
                rest.removeFirst()
            } else if let range = skipped.first, range.lowerBound <= itemsEnd {
                itemsEnd = max(itemsEnd, range.upperBound)
                skipped.removeFirst()
            } else {
                return
            }
        }
    }
}

extension [Range<Int>] {
    /// Adds a position after the last one.
    mutating func append(position: Int) {
        if let last, last.upperBound == position {
            self[count - 1] = last.lowerBound..<position + 1
        } else {
            append(position..<position + 1)
        }
    }

    /// The number of positions in all ranges.
    var positions: Int { reduce(0) { $0 + $1.count } }
}
