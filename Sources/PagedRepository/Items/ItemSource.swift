import PageModel
import Synchronization

/// An origin of typed values: a closure that fetches one page of them, made into a `PageSource`.
///
/// A page size and a closure are all it takes:
///
/// ```swift
/// let source = try ItemSource.offsets(pageSize: 20) { offset, size in try await api.events(offset, size) }
/// let sync = ListSync(storage: store, source: source, key: QueryKey("events"))
/// let report = try await sync.run()
/// ```
///
/// Which factory is yours depends on what the origin asks for: `offsets`, `pages` (numbers), `cursors`, `afterLast`
/// (the last item that is known) or `links`. The closures answer with an `ItemPage`, with a response of your own that
/// is a `PaginatedResponse`, or with an array; those that hand over how to go on, with a `CursorPage`.
///
/// **Codec.** Values are stored as bytes; by default as JSON, where `Value` is `Codable`. Other codecs are named.
///
/// **Ids.** By the id an item is known again when it has moved or was edited. By default it is the `id` of an
/// `Identifiable` value; `id: nil` says that there are none, and then equal values are the same item. An id has to come
/// from the origin: one that is made up while decoding, such as `let id = UUID()`, makes every refresh find another
/// list.
///
/// **Errors.** A closure throws a `FetchFailure` to say what is the matter, and whether trying again helps (R27); 400,
/// 404 and 416 for an offset mean that there is nothing there any more (R24). A `DecodingError` is permanent.
/// Everything else counts as a transport failure, and is tried again. `CancellationError` is none of these.
public struct ItemSource<Value: Sendable>: PageSource {
    /// What a paging style brings back from its origin.
    struct Handover: Sendable {
        var page: ItemPage<Value>
        /// How to ask for what follows; nil at the end, and for offsets.
        var next: PageCursor?
    }

    /// How long one answer may take; then the closure's task is cancelled, and the fetch has failed with `timeout`
    /// (X14). A closure that does not heed its cancelling is waited for. nil: no limit. Default: 60 seconds.
    public var timeLimit: Duration? = .seconds(60)

    /// How values are stored; whoever reads the list decodes with it.
    public let codec: any ItemCodec<Value>
    private let id: (@Sendable (Value) -> String)?
    private let paging: String
    private let currentAccess: @Sendable () -> PagingAccess
    private let ask: @Sendable (PageRequest) async throws -> Handover
    private let meter: UsageMeter

    /// A paging style, in two steps.
    /// - Parameters:
    ///   - paging: the style in one word, for people.
    ///   - place: what a request means to this origin; throws when it means nothing.
    ///   - bring: asks the origin. One call is one request.
    init<Place>(
        paging: String, codec: any ItemCodec<Value>, id: (@Sendable (Value) -> String)?,
        access: @escaping @Sendable () -> PagingAccess,
        place: @escaping @Sendable (PageRequest) throws(FetchFailure) -> Place,
        bring: @escaping @Sendable (Place) async throws -> Handover
    ) {
        let meter = UsageMeter()
        self.paging = paging
        self.codec = codec
        self.id = id
        self.meter = meter
        currentAccess = access
        ask = { request in
            let place = try place(request)
            meter.add(SourceUsage(requests: 1))
            return try await bring(place)
        }
    }

    public var access: PagingAccess { currentAccess() }

    /// 0: a closure is asked for offset and size as it was written for, page by page (R21).
    public var largestOverlap: Int? { 0 }

    /// Copies of a source count together. Bytes are those of the encoded items: what went over the wire, only the
    /// closure knows.
    public var usage: SourceUsage { meter.usage }

    /// - Throws: what the closure throws, a `DecodingError` excepted; and `FetchFailure` with class `refused` for a
    ///   cursor that is not one of this source's, and with class `undecodable` for a value that cannot be encoded.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let handover: Handover
        do {
            handover = try await withinLimit { try await ask(request) }
        } catch let failure as FetchFailure where request.isForOffset && failure.mayMeanPastEnd {
            return .pastEnd
        } catch is DecodingError {
            // R27: the body is what it is. What is wrong with it names data, and stays out of the ledger.
            throw FetchFailure(.undecodable, "the answer does not decode to what is expected", isRetryable: false)
        }
        let page = handover.page
        let content = try content(of: page.items)
        meter.add(SourceUsage(bytesReceived: content.bytes.count))
        return .page(
            FetchedPage(
                content: content, total: page.total, next: handover.next, hasMore: page.hasMore,
                lesson: request.target == .first ? lesson : nil))
    }

    private func withinLimit(_ work: @escaping @Sendable () async throws -> Handover) async throws -> Handover {
        guard let timeLimit else { return try await work() }
        return try await withThrowingTaskGroup(of: Handover?.self) { race in
            race.addTask { try await work() }
            race.addTask {
                try await Task.sleep(for: timeLimit)
                return nil
            }
            defer { race.cancelAll() }
            // Whoever is first; both end before the group does.
            guard let handover = try await race.next() ?? nil else {
                throw FetchFailure(.timeout, "no answer within \(timeLimit)", isRetryable: true)
            }
            return handover
        }
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

    private var lesson: SourceLesson { SourceLesson(paging: paging, source: ItemSourceNote(codec: codec.name).json) }

    /// What factories take for `id` unless they are told: the `id` of `Identifiable` values; nil where they have none
    /// of their own.
    public static var ownID: (@Sendable (Value) -> String)? {
        guard let type = Value.self as? any Identifiable.Type, !isByReference(type) else { return nil }
        // Looked at above: every value of this type has one.
        return { value in "\((value as! any Identifiable).id)" }
    }

    /// Objects without an id of their own are identified by their address, which says nothing about the item.
    private static func isByReference<Own: Identifiable>(_ type: Own.Type) -> Bool {
        Own.ID.self == ObjectIdentifier.self
    }
}

extension PageRequest {
    fileprivate var isForOffset: Bool { if case .offset = target { true } else { false } }
}

extension FetchFailure {
    /// R24: with these an origin refuses a place beyond the end. Page one is never there, nor is what a page handed
    /// over.
    fileprivate var mayMeanPastEnd: Bool { [400, 404, 416].contains(httpStatus) }

    /// A request that this way of paging has no words for, as when a list was read in another way before.
    static func notAskedThisWay(_ what: String) -> FetchFailure {
        FetchFailure(.refused, "this source cannot be asked for \(what)", isRetryable: false)
    }
}

/// What a source has cost. State: the sum, behind a mutex; whoever holds a copy of the source may add to it.
private final class UsageMeter: Sendable {
    private let sum = Mutex(SourceUsage())

    var usage: SourceUsage { sum.withLock { $0 } }

    func add(_ usage: SourceUsage) {
        sum.withLock { sum in
            sum.requests += usage.requests
            sum.bytesReceived += usage.bytesReceived
        }
    }
}
