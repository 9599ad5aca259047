public import PagedRepository

/// Everything about a simulated origin, as a value: what it holds, how it pages, what it claims, and what happens to it
/// between any two requests.
///
/// `SimulatedOrigin` carries it out. Made from a seed, or by hand:
/// `OriginPlan(style: .cursor, count: 40, events: [.before(3, .insert(at: .start, count: 2)), .on(5, .transport)])`
public struct OriginPlan: Hashable, Sendable {
    /// How the origin is asked for pages.
    public enum Style: String, Hashable, Sendable, CaseIterable {
        /// By any offset.
        case offset
        /// By page number, on a grid of the origin's own page size; any other size asked for is ignored.
        case page
        /// By an opaque token that stands for a position: what was inserted before it is seen as a repeated item, what
        /// was deleted as a skipped one.
        case cursor
        /// By the next URL, with a page number inside; the size of page one holds for the pages linked behind it.
        case link
        /// By an opaque token that stands for the last item's sort key: it goes on behind that key, also when the item
        /// itself is gone.
        case keyset
    }

    /// What the origin says about the length of its list. Lies are told as exact numbers.
    public enum Totals: Hashable, Sendable {
        /// The truth.
        case exact
        /// The length of so many requests ago, told as exact.
        case lagging(requests: Int)
        /// Never more than this, told as exact.
        case capped(Int)
        /// Up to so many too many or too few, told as an estimate. The error changes with every fourth request.
        case estimated(within: Int)
        /// Nothing.
        case none
        /// 0, whatever is there.
        case zero
        /// So many too few, told as exact.
        case tooLow(by: Int)
        /// So many too many, told as exact: a total beyond the end.
        case tooHigh(by: Int)
        /// Up to so many too many or too few, another error with each request, told as exact.
        case jittering(by: Int)
    }

    /// What the origin gives to recognise an answer again. A tag changes with the items of the page, with what is
    /// handed over for the next, and with `hasMore`. It is good for the exact request that it answered, and for no
    /// other.
    public enum Validators: String, Hashable, Sendable, CaseIterable {
        /// Nothing: every answer comes in full.
        case none
        /// Tags for pages; the total is in a header that "not modified" does not repeat: it may have changed all the
        /// same.
        case pages
        /// The total is in the body, so that another total is another tag.
        case pagesAndTotal
        /// Tags for pages; "not modified" repeats the total.
        case totalOnNotModified
    }

    /// What comes when a place beyond the end is asked for. Page one is never beyond the end, nor is a sort key: there,
    /// an empty page comes in any case.
    public enum PastEnd: String, Hashable, Sendable, CaseIterable {
        /// A page without items.
        case emptyPage
        /// `PageAnswer.pastEnd`, as for a 404.
        case refused
    }

    /// What tells items apart.
    public enum Identity: String, Hashable, Sendable, CaseIterable {
        /// Every item has an id of its own; ids never come again.
        case ids
        /// No item has an id; payloads are unique.
        case none
        /// Every item has an id; every seventh shares that of an item made a little earlier, when it is still there.
        case repeating
    }

    /// A `largestPage` that cuts nothing.
    public static let noLargestPage = 1_000

    /// For everything that is left to chance while the plan is carried out: errors of estimates, latency.
    public var seed: UInt64
    /// How it is asked for pages.
    public var style: Style
    /// How many items there are at first.
    public var count: Int
    /// How many items a page has when no size is asked for.
    public var pageSize: Int
    /// How many items a page has at most, whatever is asked for.
    public var largestPage: Int
    /// What it says of the length of its list.
    public var totals: Totals
    /// What it gives to recognise an answer again.
    public var validators: Validators
    /// What comes beyond the end.
    public var pastEnd: PastEnd
    /// Whether answers say `hasMore`; always the truth.
    public var saysHasMore: Bool
    /// What tells its items apart.
    public var identity: Identity
    /// What it does with every answer that most origins do not do.
    public var habits = OriginHabits()
    /// The kind that it was drawn for. It changes nothing about the origin.
    public var kind = OriginKind.ordinary
    /// Ascending by request; events at one request happen in this order.
    public var events: [OriginEvent]

    /// A plan; each parameter is the property of its name. `count` is 0…, and a page has at least one item.
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

    /// How many items a page has when no size is asked for, and always when pages have numbers.
    public var usualSize: Int { max(min(pageSize, largestPage), 1) }

    /// How the engine may ask.
    public var access: PagingAccess {
        switch style {
        case .offset: .offsets
        case .page: .grid(size: usualSize)
        case .cursor, .link, .keyset: .chain
        }
    }
}
