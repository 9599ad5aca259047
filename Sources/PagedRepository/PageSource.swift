public import PageModel

/// A paginated origin, as seen by the engine: asked for one page at a time, it answers or throws a `FetchFailure`.
///
/// Anything else it throws counts as a retryable transport failure, except `CancellationError`.
public protocol PageSource: Sendable {
    /// How pages can be asked for. May become known only with the first answer: it is read again after page one.
    var access: PagingAccess { get }

    /// Everything sent and received so far, probes and retries included.
    var usage: SourceUsage { get }

    /// How many items that are known may be asked for again with each page (R21), at most; nil leaves it to the
    /// options. For sources whose sizes have to be taken as they are.
    var largestOverlap: Int? { get }

    /// The fewest items that can be asked for to see what is at a place; nil when only whole pages can be.
    var probeSize: Int? { get }

    /// Asks for one page, and brings the answer.
    ///
    /// May be called for several pages at once, where `access` allows them out of order.
    /// - Throws: `FetchFailure`, which says whether trying again can help (R27); `CancellationError`. Everything else
    ///   counts as a transport failure.
    func fetch(_ request: PageRequest) async throws -> PageAnswer

    /// Takes up what is stored of the list: how its origin pages, and for whom it was fetched (R45). Called before
    /// anything of the list is served or asked for, once or many times; asks nobody for anything.
    /// - Throws: `FetchFailure` with class `forbidden` when the list was fetched for somebody else: nothing of it is
    ///   served then, and nothing fetched.
    func takeUp(_ list: QueryRecord) throws(FetchFailure)
}

extension PageSource {
    public var probeSize: Int? { nil }
    public var largestOverlap: Int? { nil }
    public func takeUp(_ list: QueryRecord) throws(FetchFailure) {}
}

/// How an origin lets pages be asked for.
public enum PagingAccess: Hashable, Sendable {
    /// By any offset.
    case offsets
    /// By page number: offsets that are multiples of `size`.
    case grid(size: Int)
    /// Only by what the page before hands over.
    case chain
    /// Not at all: page one is the list.
    case single

    /// Whether pages can be asked for out of order.
    public var isRandom: Bool {
        switch self {
        case .offsets, .grid: true
        case .chain, .single: false
        }
    }
}

/// One question to an origin.
public struct PageRequest: Hashable, Sendable {
    /// Which page is asked for.
    public enum Target: Hashable, Sendable {
        /// Page one.
        case first
        /// The items from this position on. Never asked of a `chain`.
        case offset(Int)
        /// What a page handed over.
        case cursor(PageCursor)
    }

    /// Which page is asked for.
    public var target: Target
    /// How many items to ask for; nil leaves it to the origin. The answer may hold fewer, or more.
    public var size: Int?
    /// Sent along if it belongs to exactly this request (R1); the source decides that.
    public var validator: Validator?

    /// A request; each parameter is the property of its name.
    public init(_ target: Target, size: Int? = nil, validator: Validator? = nil) {
        self.target = target
        self.size = size
        self.validator = validator
    }
}

/// What an origin answers.
public enum PageAnswer: Hashable, Sendable {
    /// Items, be it none.
    case page(FetchedPage)
    /// The page is as the validator says. `total` is what this answer itself says of the list's length.
    case notModified(total: Total, validator: Validator?)
    /// There is nothing at that place any more: 404 or 416 for a place beyond the end (R24).
    case pastEnd
}

/// The items of an answer and what came with them.
public struct FetchedPage: Hashable, Sendable {
    /// The items, as the origin sent them.
    public var content: PageContent
    /// What this answer says of the list's length.
    public var total: Total
    /// How to ask for what follows; nil at the end, and for origins that take offsets.
    public var next: PageCursor?
    /// What the origin says itself; nil when it does not (R24).
    public var hasMore: Bool?
    /// What this very request can be validated with next time; nil where the origin gives nothing (R1).
    public var validator: Validator?
    /// For how long the origin calls this answer fresh (RFC 9111, 5.2.2.1: `max-age`); nil when it does not say. Page
    /// one's is stored with the list, kept within 0 and a year; what it is worth is the `FreshnessPolicy`'s to say. Of
    /// other pages it counts for nothing.
    public var freshFor: Duration?
    /// False where the origin forbids to keep this answer (RFC 9111, 5.2.2.5: `no-store`): it is handed to the caller,
    /// and nothing of it is stored, unless `SyncOptions.storesDespiteNoStore` says so. Default: true.
    public var mayBeStored: Bool
    /// How the origin pages, when this answer taught it.
    public var lesson: SourceLesson?

    /// A page; what is left out, the origin does not say.
    public init(
        content: PageContent, total: Total = .unknown, next: PageCursor? = nil, hasMore: Bool? = nil,
        validator: Validator? = nil, freshFor: Duration? = nil, mayBeStored: Bool = true, lesson: SourceLesson? = nil
    ) {
        self.content = content
        self.total = total
        self.next = next
        self.hasMore = hasMore
        self.validator = validator
        self.freshFor = freshFor
        self.mayBeStored = mayBeStored
        self.lesson = lesson
    }
}

/// What a source has learned about its origin, to be stored with the query so that it need not be learned again.
public struct SourceLesson: Hashable, Sendable {
    /// The paging style in one word.
    public var paging: String
    /// Everything needed to ask again, in the source's own format; never holds secrets.
    public var source: String
    /// What people should hear of: contradictions, guesses.
    public var warnings: [String]

    /// A lesson; each parameter is the property of its name.
    public init(paging: String, source: String, warnings: [String] = []) {
        self.paging = paging
        self.source = source
        self.warnings = warnings
    }
}

/// What a source has cost so far.
public struct SourceUsage: Hashable, Sendable {
    /// Requests sent: pages, probes, HEADs and retries.
    public var requests: Int
    /// Bytes of bodies received, as they came over the wire.
    public var bytesReceived: Int

    /// A cost; each parameter is the property of its name.
    public init(requests: Int = 0, bytesReceived: Int = 0) {
        self.requests = requests
        self.bytesReceived = bytesReceived
    }
}
