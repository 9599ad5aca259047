import PageModel
import Synchronization

/// A source of typed values: a closure that fetches one page, as a `PageSource`.
///
/// A page size and a closure are enough:
///
/// ```swift
/// let source = ItemSource.offsets(pageSize: 20) { offset, size in try await api.events(offset, size) }
/// let sync = ListSync(storage: store, source: source, key: QueryKey("events"))
/// let report = try await sync.run()
/// ```
///
/// Choose the factory by the parameters of the origin: `offsets`, `pages` (numbers), `cursors`, `afterLast` (the last
/// known item) or `links`. A closure returns an `ItemPage`, your own `PaginatedResponse`, or an array. The closures of
/// `cursors` and `links` return a `CursorPage`.
///
/// **Codec.** Values are stored as bytes, by default as JSON when `Value` is `Codable`. Pass a codec for any other
/// format.
///
/// **Ids.** The id identifies an item that has moved or was edited. It defaults to the `id` of an `Identifiable` value.
/// `id: nil` means that items have no ids; equal values are then the same item. An id must come from the origin. With
/// an id that is created while decoding, such as `let id = UUID()`, every refresh finds a different list.
///
/// **Errors.** A closure throws a `FetchFailure` to state the error and whether a retry can help (R27). The status
/// codes 400, 404 and 416 for an offset mean that the position lies beyond the end, unless the total counts it (R24). A
/// `DecodingError` is permanent. Any other error counts as a transport failure and is retried. This includes a
/// `CancellationError` that the closure throws without being cancelled.
///
/// **Calls on the list.** A closure must not load the list that called it: such a call fails at once. The check does
/// not cover detached tasks. A closure that awaits a detached task with such a call waits for itself, until
/// `timeLimit`.
public struct ItemSource<Value: Sendable>: PageSource, PromptSource, RepeatingSource, SizedSource {
    /// A page and the cursor of the next page, as a paging style returns them.
    struct Handover: Sendable {
        var page: ItemPage<Value>
        /// The cursor of the next page. `nil` at the end, and for offsets.
        var next: PageCursor?
    }

    /// How long one answer may take. After that the fetch fails with `timeout`, and the closure's task is cancelled. A
    /// closure that ignores the cancellation continues in the background, and its late answer is dropped. The same
    /// holds when the last caller of a load is cancelled. `nil` means no limit. Defaults to 60 seconds.
    public var timeLimit: Duration? = .seconds(60)

    /// The codec of the stored values. A repository for the list must use the same codec.
    public let codec: any ItemCodec<Value>
    private let id: (@Sendable (Value) -> String)?
    private let paging: String
    private let currentAccess: @Sendable () -> PagingAccess
    private let currentSize: @Sendable () -> Int?
    private let ask: @Sendable (PageRequest) async throws -> Handover
    private let meter: UsageMeter

    /// A paging style, in two steps.
    /// - Parameters:
    ///   - paging: the style in one word, for people.
    ///   - access: returns the way in which pages can be requested.
    ///   - requestedSize: returns the number of items that a request without a size asks for. Defaults to nil.
    ///   - place: translates a request into the origin's parameters, or throws when the style cannot express it.
    ///   - bring: fetches from the origin. One call is one request.
    init<Place>(
        paging: String, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)?,
        access: @escaping @Sendable () -> PagingAccess,
        requestedSize: @escaping @Sendable () -> Int? = { nil },
        place: @escaping @Sendable (PageRequest) throws(FetchFailure) -> Place,
        bring: @escaping @Sendable (Place) async throws -> Handover
    ) {
        let meter = UsageMeter()
        self.paging = paging
        self.codec = codec
        self.id = id
        self.meter = meter
        currentAccess = access
        currentSize = requestedSize
        ask = { request in
            let place = try place(request)
            meter.add(SourceUsage(requests: 1))
            do {
                return try await bring(place)
            } catch {
                // `handover(for:)` counts a call that was cancelled or took too long.
                if !Task.isCancelled { meter.add(SourceUsage(failures: 1)) }
                throw error
            }
        }
    }

    public var access: PagingAccess { currentAccess() }

    /// 0, because planned pages do not overlap (R21). At an origin that accepts offsets, and states no exact total, pages
    /// still begin with the last held item: each page that continues a list, and each page of a load of the whole list.
    /// Such an item shows a deletion before it.
    public var largestOverlap: Int? { 0 }

    package var repeatsLast: Bool { access == .offsets }
    package var requestedSize: Int? { currentSize() }

    /// Copies of a source share one counter. `bytesReceived` counts the bytes of the encoded items, because only the
    /// closure knows the size of the transfer.
    public var usage: SourceUsage { meter.usage }

    /// - Throws: the error of the closure. A run treats a `DecodingError` as a permanent failure of class
    ///   `undecodable`. `FetchFailure` with class `rejected` for a cursor of another source, and with class
    ///   `undecodable` for a value that cannot be encoded.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let handover: Handover
        do {
            // A validator of another source or size belongs to another request (R1).
            let sent = request.validator.flatMap { $0.request == validatedRequest(request) ? $0 : nil }
            handover = try await ConditionalRequest.$validator.withValue(sent) {
                try await self.handover(for: request)
            }
            if handover.page.isNotModified {
                guard let sent else { throw FetchFailure.notModifiedUnasked }
                return .notModified(total: handover.page.total, validator: sent)
            }
        } catch let failure as FetchFailure where request.isForOffset && failure.mayMeanPastEnd {
            return failure.httpStatus == 404 ? .notFound : .pastEnd
        }
        let page = handover.page
        let content = try content(of: page.items)
        meter.add(SourceUsage(bytesReceived: content.bytes.count))
        return .page(
            FetchedPage(
                content: content, total: page.total, next: handover.next, hasMore: page.hasMore,
                validator: validator(of: page, request), freshFor: page.freshFor, mayBeStored: page.mayBeStored,
                detectedPaging: request.target == .first ? detectedPaging : nil))
    }

    /// Returns the result of the closure, and counts a request that ended without a result. The closure may ignore its
    /// cancellation.
    private func handover(for request: PageRequest) async throws -> Handover {
        do {
            return try await AbandonableCall.run(within: timeLimit) { [ask] in try await ask(request) }
        } catch {
            var usage = SourceUsage()
            if Task.isCancelled {
                usage.cancelled = 1
            } else if let failure = error as? FetchFailure, failure == timeLimit.map(FetchFailure.noAnswer(within:)) {
                usage.failures = 1
            }
            meter.add(usage)
            throw error
        }
    }

    /// The text by which a validator names its request: the style, the codec and the requested size.
    private func validatedRequest(_ request: PageRequest) -> String {
        "\(paging) \(codec.name) \(request.size.map { "\($0)" } ?? "-")"
    }

    private func validator(of page: ItemPage<Value>, _ request: PageRequest) -> Validator? {
        guard request.target == .first, page.entityTag != nil || page.lastModified != nil else { return nil }
        return Validator(
            request: validatedRequest(request), entityTag: page.entityTag, lastModified: page.lastModified,
            coversTotal: page.total != .unknown)
    }

    private func content(of values: [Value]) throws(FetchFailure) -> PageContent {
        var content = PageContent()
        for (index, value) in values.enumerated() {
            let payload: [UInt8]
            do {
                payload = try codec.encode(value)
            } catch {
                throw FetchFailure(
                    .undecodable, "item \(index) of the page cannot be encoded as \(codec.name)", isRetryable: false)
            }
            content.append(payload[...], id: id?(value))
        }
        return content
    }

    private var detectedPaging: DetectedPaging {
        DetectedPaging(paging: paging, source: ItemSourceNote(codec: codec.name).json)
    }

    /// The default for `id` in all factories: the `id` of `Identifiable` values. `nil` when `Value` has no `id` of its
    /// own.
    public static var ownID: (@Sendable (Value) -> String)? {
        guard let type = Value.self as? any Identifiable.Type, !isByReference(type) else { return nil }
        // Checked above: every value of this type is `Identifiable`.
        return { value in "\((value as! any Identifiable).id)" }
    }

    /// Whether values are identified by their address, as objects without an `id` of their own are. An address does not
    /// identify an item.
    private static func isByReference<Own: Identifiable>(_ type: Own.Type) -> Bool {
        Own.ID.self == ObjectIdentifier.self
    }
}

extension PageRequest {
    fileprivate var isForOffset: Bool { if case .offset = target { true } else { false } }
}

extension FetchFailure {
    /// With these status codes an origin refuses a position beyond the end (R24). They do not mean the end for page one
    /// or for a cursor.
    fileprivate var mayMeanPastEnd: Bool { [400, 404, 416].contains(httpStatus) }

    static let notModifiedUnasked = FetchFailure(
        .undecodable, "the source returned \"not modified\" for a request without a validator",
        isRetryable: false)

    /// The failure for a request that this paging style cannot express, for example after the list was read in another
    /// style.
    static func notAskedThisWay(_ what: String) -> FetchFailure {
        FetchFailure(.rejected, "this source cannot fetch \(what)", isRetryable: false)
    }
}

/// Counts the usage of a source. State, under a mutex: the sum, which all copies of the source add to.
private final class UsageMeter: Sendable {
    private let sum = Mutex(SourceUsage())

    var usage: SourceUsage { sum.withLock { $0 } }

    func add(_ usage: SourceUsage) {
        sum.withLock { sum in
            sum.requests += usage.requests
            sum.failures += usage.failures
            sum.bytesReceived += usage.bytesReceived
            sum.cancelled += usage.cancelled
        }
    }
}
