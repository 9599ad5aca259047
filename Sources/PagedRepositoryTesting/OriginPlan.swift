public import PagedRepository

/// The full description of a simulated origin, as a value: its items, its paging, its totals, and its events between
/// requests.
///
/// `SimulatedOrigin` carries a plan out. A plan is drawn from a seed, or written by hand: `OriginPlan(style: .cursor,
/// count: 40, events: [.before(3, .insert(at: .start, count: 2)), .on(5, .transport)])`
public struct OriginPlan: Hashable, Sendable {
    /// The way in which the origin's pages are requested.
    public enum Style: String, Hashable, Sendable, CaseIterable {
        /// By any offset.
        case offset
        /// By page number, on a grid of the origin's own page size. The origin ignores any other requested size.
        case page
        /// By an opaque token that stands for a position. An insertion before the position repeats an item, and a
        /// deletion skips one.
        case cursor
        /// By the next URL, which contains a page number. The size of page one applies to the pages that its links lead
        /// to.
        case link
        /// By an opaque token that stands for the last item's sort key. The next page begins after that key, even when
        /// the item is gone.
        case keyset
    }

    /// The origin's statement about the length of its list. Wrong numbers are reported as exact, except by `estimated`.
    public enum Totals: Hashable, Sendable {
        /// The true length.
        case exact
        /// The length that the list had this many requests earlier, reported as exact.
        case lagging(requests: Int)
        /// The length, limited to this number and reported as exact.
        case capped(Int)
        /// An estimate that is up to this number too high or too low. The error changes with every fourth request.
        case estimated(within: Int)
        /// No total.
        case none
        /// 0 for every list.
        case zero
        /// The length less this number, at least 0, reported as exact.
        case tooLow(by: Int)
        /// The length plus this number, reported as exact: a total beyond the end.
        case tooHigh(by: Int)
        /// A number up to this much too high or too low, with another error at each request, reported as exact.
        case jittering(by: Int)
    }

    /// The validators of the origin. A tag changes with the items of the page, with its next cursor and with `hasMore`.
    /// A tag is valid only for the exact request whose answer contained it.
    public enum Validators: String, Hashable, Sendable, CaseIterable {
        /// No validators: every answer is sent in full.
        case none
        /// Each page has an entity tag. A 304 leaves out the header with the total, so the total can change unnoticed.
        case pages
        /// Each page has an entity tag, which also covers the total in the body: another total changes the tag.
        case pagesAndTotal
        /// Each page has an entity tag. A 304 repeats the header with the total.
        case totalOnNotModified
    }

    /// The answer to a request beyond the end. Page one and requests by sort key always get an empty page instead.
    public enum PastEnd: String, Hashable, Sendable, CaseIterable {
        /// A page without items.
        case emptyPage
        /// `PageAnswer.pastEnd`, as for a 400 or 416.
        case refused
    }

    /// The identity of items.
    public enum Identity: String, Hashable, Sendable, CaseIterable {
        /// Every item has an id of its own, and ids are never reused.
        case ids
        /// No item has an id. Payloads are unique.
        case none
        /// Every item has an id. Every seventh item shares the id of an item made a little earlier, if that item still
        /// exists.
        case repeating
    }

    /// The `largestPage` that stands for no limit. Pages still have 1,000 items at most.
    public static let noLargestPage = 1_000

    /// The seed of all random values while the plan is carried out, such as errors of estimates, hidden items and
    /// latency.
    public var seed: UInt64
    /// The way in which the origin's pages are requested.
    public var style: Style
    /// The number of items at first.
    public var count: Int
    /// The number of items in a page when the request names no size.
    public var pageSize: Int
    /// The most items in a page, whatever size the request names.
    public var largestPage: Int
    /// The origin's statement about the length of its list.
    public var totals: Totals
    /// The validators of the origin.
    public var validators: Validators
    /// The answer to a request beyond the end.
    public var pastEnd: PastEnd
    /// Whether answers contain `hasMore`. It is computed from the list, not from the reported total.
    public var saysHasMore: Bool
    /// The identity of its items.
    public var identity: Identity
    /// Unusual properties of every answer.
    public var behaviour = OriginBehaviour()
    /// The kind that the plan was drawn for. It has no effect on the origin.
    public var kind = OriginKind.ordinary
    /// The events. Changes before the same request happen in this order; of several faults at one request, the first
    /// counts.
    public var events: [OriginEvent]

    /// Creates a plan. `count` is 0 or more, and a page has at least one item.
    public init(
        seed: UInt64 = 0, style: Style = .offset, count: Int, pageSize: Int = 10,
        largestPage: Int = OriginPlan.noLargestPage, totals: Totals = .exact, validators: Validators = .none,
        pastEnd: PastEnd = .emptyPage, saysHasMore: Bool = false, identity: Identity = .ids, events: [OriginEvent] = []
    ) {
        self.seed = seed
        self.style = style
        self.count = count
        self.pageSize = pageSize
        self.largestPage = largestPage
        self.totals = totals
        self.validators = validators
        self.pastEnd = pastEnd
        self.saysHasMore = saysHasMore
        self.identity = identity
        self.events = events
    }

    /// The number of items in a page when the request names no size. Numbered pages always have this size.
    public var usualSize: Int { max(min(pageSize, largestPage), 1) }

    /// The access that `SimulatedOrigin` reports.
    public var access: PagingAccess {
        switch style {
        case .offset: .offsets
        case .page: .grid(size: usualSize)
        case .cursor, .link, .keyset: .chain
        }
    }
}
