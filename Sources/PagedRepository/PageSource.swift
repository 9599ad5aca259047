public import PageModel

/// The code that fetches pages from a paginated origin. Each call of `fetch` requests one page, and returns the answer
/// or throws a `FetchFailure`.
///
/// A `DecodingError` counts as a permanent failure of class `undecodable`. Any other error counts as a retryable
/// transport failure, unless the task was cancelled.
public protocol PageSource: Sendable {
    /// Which requests the origin accepts. A source may learn this from the first answer, so the property is read again
    /// after page one.
    var access: PagingAccess { get }

    /// All requests sent and bytes received so far, including probes and retries.
    var usage: SourceUsage { get }

    /// The maximum number of known items that the request for a page may fetch again (R21). Sources whose page sizes
    /// are fixed return 0. `nil` leaves the number to `SyncOptions.overlap`. Defaults to nil.
    var largestOverlap: Int? { get }

    /// The number of items that a probe requests to see the items at a position (R18). `nil` means that only whole
    /// pages can be fetched. Defaults to nil.
    var probeSize: Int? { get }

    /// How long one call of `fetch` may take. After that the fetch fails with `timeout`, and the task of the call is
    /// cancelled. A call that ignores the cancellation continues in the background, and its late answer is dropped.
    /// `nil` means no limit. Defaults to 5 minutes.
    var timeLimit: Duration? { get }

    /// Fetches one page.
    ///
    /// May be called for several pages at once when `access` allows pages out of order. When the last caller of a load
    /// is cancelled, the task of this call is cancelled too. An answer that arrives within a second after that is still
    /// stored.
    /// - Throws: `FetchFailure`, which says whether a retry can help (R27), or `CancellationError` when the task is
    ///   cancelled. Other errors count as described above.
    func fetch(_ request: PageRequest) async throws -> PageAnswer

    /// Decides whether the items of the stored list may be served and fetched with this source (R45). Called before any
    /// item of the list is served or fetched, once or many times. Sends no request. The default accepts every list.
    /// - Throws: `FetchFailure` with class `forbidden` when the list was fetched with other credentials. Its items are
    ///   then neither served nor fetched.
    func authorize(_ list: QueryRecord) throws(FetchFailure)

    /// Restores the stored description of the list's paging, so that a run need not detect the paging again. Called
    /// before the list is fetched, once or many times, and only for a list that `authorize(_:)` has accepted. Sends no
    /// request. The default does nothing.
    func restore(from list: QueryRecord)
}

extension PageSource {
    public var probeSize: Int? { nil }
    public var largestOverlap: Int? { nil }
    public var timeLimit: Duration? { .seconds(300) }
    public func authorize(_ list: QueryRecord) throws(FetchFailure) {}
    public func restore(from list: QueryRecord) {}

    /// Whether `authorize(_:)` accepts the list (R45).
    func mayServe(_ list: QueryRecord) -> Bool { (try? authorize(list)) != nil }
}

/// The way in which pages can be requested from an origin.
public enum PagingAccess: Hashable, Sendable {
    /// By any offset.
    case offsets
    /// By page number: at offsets that are multiples of `size`.
    case grid(size: Int)
    /// Only by the cursor that the previous page returned.
    case chain
    /// By no position at all: page one is the whole list.
    case single

    /// Whether pages can be requested out of order.
    public var supportsRandomAccess: Bool {
        switch self {
        case .offsets, .grid: true
        case .chain, .single: false
        }
    }
}

/// One request to an origin.
public struct PageRequest: Hashable, Sendable {
    /// The page that is requested.
    public enum Target: Hashable, Sendable {
        /// Page one.
        case first
        /// The items from this position on. Never sent to a `chain`.
        case offset(Int)
        /// The page after a cursor that an earlier page returned.
        case cursor(PageCursor)
    }

    /// The page that is requested.
    public var target: Target
    /// The number of items to request. `nil` leaves the number to the origin. The answer may hold fewer items, or more.
    public var size: Int?
    /// The validator to send. The source sends it only if it belongs to exactly this request (R1).
    public var validator: Validator?

    /// Creates a request.
    public init(_ target: Target, size: Int? = nil, validator: Validator? = nil) {
        self.target = target
        self.size = size
        self.validator = validator
    }
}

/// An answer of an origin.
public enum PageAnswer: Hashable, Sendable {
    /// Items, possibly none.
    case page(FetchedPage)
    /// The page is unchanged since the validator of the request was issued. `total` is the length that this answer
    /// itself states. `validator` replaces the stored one; `nil` keeps the stored one.
    case notModified(total: ListTotal, validator: Validator?)
    /// The position lies beyond the end of the list: 400 or 416 (R24).
    case pastEnd
    /// The origin does not find the position: 404. The position lies beyond the end, unless the total counts it or the
    /// list holds an item there (R24).
    case notFound
}

/// A page as the origin returned it: its items, and the total, cursor, validator and lifetime of the same answer.
public struct FetchedPage: Hashable, Sendable {
    /// The items, as the origin sent them.
    public var content: PageContent
    /// The length of the list, as this answer states it.
    public var total: ListTotal
    /// The cursor of the next page. `nil` at the end, and for origins that take offsets.
    public var next: PageCursor?
    /// Whether the list continues, as the origin states it (R24). `nil` means that the origin does not say.
    public var hasMore: Bool?
    /// The validator for repeating this very request (R1). `nil` means that the origin sent none.
    public var validator: Validator?
    /// How long the origin calls this answer fresh (RFC 9111, 5.2.2.1: `max-age`). `nil` means that the origin does not
    /// say. The value of page one is stored with the list, clamped to the range from 0 seconds to 1 year.
    /// `FreshnessPolicy` decides how the value counts. The value of any other page is ignored.
    public var freshFor: Duration?
    /// Whether the answer may be stored. False when the origin forbids it (RFC 9111, 5.2.2.5: `no-store`). The answer
    /// is then returned to the caller and not stored, unless `SyncOptions.storesDespiteNoStore` is true. Defaults to
    /// true.
    public var mayBeStored: Bool
    /// The paging of the origin, as the source detected it. `nil` means that this answer states nothing new. The value
    /// is stored with page one, and with pages that were requested by position.
    public var detectedPaging: DetectedPaging?

    /// Creates a page. An omitted parameter means that the origin does not state the value.
    public init(
        content: PageContent, total: ListTotal = .unknown, next: PageCursor? = nil, hasMore: Bool? = nil,
        validator: Validator? = nil, freshFor: Duration? = nil, mayBeStored: Bool = true,
        detectedPaging: DetectedPaging? = nil
    ) {
        self.content = content
        self.total = total
        self.next = next
        self.hasMore = hasMore
        self.validator = validator
        self.freshFor = freshFor
        self.mayBeStored = mayBeStored
        self.detectedPaging = detectedPaging
    }
}

/// The paging of an origin, as a source detected it. The paging is stored with the query, so that no later run has to
/// detect it again.
public struct DetectedPaging: Hashable, Sendable {
    /// The paging style in one word. `none` means that only page one can be requested.
    public var paging: String
    /// Everything needed to send requests again, in the source's own format. Must not contain secrets, because it is
    /// stored.
    public var source: String
    /// Warnings for people: contradictions and guesses.
    public var warnings: [String]

    /// Creates a description of detected paging.
    public init(paging: String, source: String, warnings: [String] = []) {
        self.paging = paging
        self.source = source
        self.warnings = warnings
    }
}

/// The requests and bytes that a source has used so far.
public struct SourceUsage: Hashable, Sendable {
    /// Requests sent: pages, probes, HEAD requests and retries.
    public var requests: Int
    /// Requests without an answer, and requests whose answer had an error status (RFC 9110, 15.5 and 15.6). A request
    /// that ended because its caller was cancelled is not included.
    public var failures: Int
    /// Bytes of bodies received, as they came over the wire.
    public var bytesReceived: Int
    /// Requests that ended without an answer because their caller was cancelled.
    package var cancelled = 0
    /// Answers without an error status that could not be read as a page.
    package var unusable = 0
    /// Redirects that were followed.
    package var redirects = 0

    /// Creates a usage.
    public init(requests: Int = 0, failures: Int = 0, bytesReceived: Int = 0) {
        self.requests = requests
        self.failures = failures
        self.bytesReceived = bytesReceived
    }
}
