public import PageModel
public import PagedRepository
import Synchronization

/// An in-memory origin that carries out an `OriginPlan`. Its list changes between requests, and requests fail, exactly
/// as the plan says. The same plan and the same requests give the same answers.
///
/// The origin records its answers, so that tests can compare a cache with them: see `wasGiven(_:)` and
/// `wasAdjacent(_:_:)`.
public final class SimulatedOrigin: PageSource, PromptSource {
    // Guarded by the mutex. A request gets its number when it arrives. One later step, without suspension, decides
    // everything about its answer.
    private struct State {
        var server: SimulatedServer
        var requests: [PageRequest] = []
        var bytes = 0

        mutating func answer(
            _ request: PageRequest, _ number: Int, at now: Timestamp?
        ) throws(FetchFailure) -> PageAnswer {
            let answer = try server.answer(request, number: number, at: now)
            if case .page(let page) = answer { bytes += page.content.bytes.count }
            return answer
        }
    }

    /// The plan that the origin carries out.
    public let plan: OriginPlan
    private let clock: (any SyncClock)?
    private let latency: ClosedRange<Duration>
    private let before: (@Sendable (Int) async -> Void)?
    private let state: Mutex<State>

    /// An origin that carries out a plan.
    /// - Parameters:
    ///   - plan: the items of the origin, its paging and its events.
    ///   - clock: the clock that measures the latency of requests and answers, and the time of
    ///     `OriginFault.emptyAnswers(for:)`. Defaults to `nil`: no latency.
    ///   - latency: the shortest and the longest time from a request to its answer, drawn from the plan's seed. The
    ///     list is read at some moment in between. The latency has no effect without a clock. Defaults to zero.
    ///   - before: called with the number of each request, from 1, before the request has any effect. Tests can send
    ///     other requests or add events in this closure. Defaults to `nil`.
    public init(
        _ plan: OriginPlan, clock: (any SyncClock)? = nil, latency: ClosedRange<Duration> = .zero...(.zero),
        before: (@Sendable (Int) async -> Void)? = nil
    ) {
        self.plan = plan
        self.clock = clock
        self.latency = latency
        self.before = before
        state = Mutex(State(server: SimulatedServer(plan)))
    }

    public var access: PagingAccess { plan.access }

    public var usage: SourceUsage {
        state.withLock { SourceUsage(requests: $0.requests.count, bytesReceived: $0.bytes) }
    }

    /// Returns the answer to a request, as the plan describes it.
    /// - Precondition: `access` allows the request. Offsets are allowed only for origins with offsets, and only on the
    ///   grid if there is one. Any other request is a defect of the caller, and traps.
    /// - Throws: the `FetchFailure` that the plan has for this request. Throws a failure with status 400 for a cursor
    ///   that the origin cannot have returned. Throws a failure with status 422 after a window that refuses requests.
    ///   Throws the error of `clock` when the task is cancelled during the latency.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count
        }
        await before?(number)
        let (there, back) = travel(number)
        try await pause(there)
        let now = clock?.now()
        let result = state.withLock { state in
            Result { () throws(FetchFailure) in try state.answer(request, number, at: now) }
        }
        try await pause(back)
        return try result.get()
    }

    /// Cancels all events that have not happened. The list then no longer changes, and requests no longer fail because
    /// of an event. Lagging totals become true after their lag; other wrong totals stay wrong.
    public func cancelEvents() { state.withLock { $0.server.cancelEvents() } }

    /// Adds an event.
    /// - Parameters:
    ///   - kind: the change, or the fault.
    ///   - requests: the distance to the request of the event: 1 for the next request, 2 for the request after it.
    ///     Defaults to 1.
    public func add(_ kind: OriginEvent.Kind, after requests: Int = 1) {
        state.withLock { $0.server.add(OriginEvent(request: $0.requests.count + requests, kind)) }
    }

    // MARK: Content and answers so far

    /// Returns the item in a form for comparison. If the origin shuffles JSON members, the members are put into a fixed
    /// order.
    public func canonical(_ item: RawItem) -> RawItem {
        plan.behaviour.shufflesMembers ? SimulatedList.canonical(item) : item
    }

    /// The visible items of the list now.
    public var items: [RawItem] { state.withLock { $0.server.list.items } }

    /// The visible items of the list at first.
    package var original: [RawItem] { SimulatedList(plan).items }

    /// The number of items, including hidden ones.
    package var length: Int { state.withLock { $0.server.list.count } }

    /// The visible items in a form for comparison.
    public var canonicalItems: [RawItem] { items.map(canonical) }

    /// Every request so far, in order of arrival.
    public var requests: [PageRequest] { state.withLock { $0.requests } }

    /// Whether every planned event has happened, or was cancelled by `cancelEvents()`.
    public var isQuiet: Bool { state.withLock { $0.server.isQuiet } }

    /// The number of the last request before which the list changed; 0 without a change.
    public var lastChange: Int { state.withLock { $0.server.lastChange } }

    /// Whether items with these identity keys (`ItemIdentity.key`) were neighbours, in this order, in one answer so
    /// far.
    public func wasAdjacent(_ first: UInt64, _ second: UInt64) -> Bool {
        state.withLock { $0.server.given.has(first, before: second) }
    }

    /// Whether an answer so far contained exactly these bytes under exactly this id.
    public func wasGiven(_ item: RawItem) -> Bool { state.withLock { $0.server.given.has(item) } }

    /// The number of times that each event really happened: changes (such as `insert`), faults (`fault.429`), and
    /// effects of the plan's features (`304.totalChanged`, `clamped`, `lag`, `behaviour.reordered`). Events that never
    /// happened are absent.
    public var occurrences: [String: Int] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.server.occurrences.map { ($0.key.rawValue, $0.value) })
                .merging(state.server.effects.map { ("behaviour.\($0.key.rawValue)", $0.value) }, uniquingKeysWith: +)
        }
    }

    /// All names that `occurrences` can contain for an origin with ordinary behaviour.
    public static let ordinaryOccurrences: [String] = OriginOccurrence.allCases.map(\.rawValue)

    // MARK: Time

    /// Returns the times that the request and its answer take.
    private func travel(_ number: Int) -> (there: Duration, back: Duration) {
        var random = SeededGenerator(seed: plan.seed, stream: UInt64(number))
        let share = 1_000
        let whole =
            latency.lowerBound + (latency.upperBound - latency.lowerBound) * random.number(below: share + 1) / share
        let there = whole * random.number(below: share + 1) / share
        return (there, whole - there)
    }

    private func pause(_ duration: Duration) async throws {
        guard let clock, duration > .zero else { return }
        try await clock.sleep(until: clock.now() + duration)
    }
}
