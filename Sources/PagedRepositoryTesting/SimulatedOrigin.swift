public import PageModel
public import PagedRepository
import Synchronization

/// An origin in memory that carries out an `OriginPlan`: its list changes between requests, and requests go wrong, as
/// the plan says and in no other way. The same plan and the same requests give the same answers.
///
/// It remembers what it said, so that a cache can be held to it: see `wasGiven(_:)` and `wasAdjacent(_:_:)`.
public final class SimulatedOrigin: PageSource {
    // Guarded by the mutex. A request gets its number when it comes, and everything about its answer is decided in one
    // step later; nothing is awaited in between.
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

    /// What it carries out.
    public let plan: OriginPlan
    private let clock: (any SyncClock)?
    private let latency: ClosedRange<Duration>
    private let before: (@Sendable (Int) async -> Void)?
    private let state: Mutex<State>

    /// - Parameters:
    ///   - plan: what it holds, how it pages, and what happens to it.
    ///   - clock: what requests and answers take their time on; nil: they take none.
    ///   - latency: the shortest and the longest time from a request to its answer, drawn from the plan's seed. The
    ///     list is read at some moment in between. Nothing without a clock.
    ///   - before: awaited with the number of each request, from 1, before anything is done for it: a place to let
    ///     other requests go first, or other things happen.
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

    /// - Precondition: the request is one that `access` allows: offsets only where there are offsets, and on the grid
    ///   where there is one. Anything else is a defect of the caller, and traps.
    /// - Throws: the `FetchFailure` that the plan has for this request.
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

    /// No event that has not happened happens any more: the list stands still, and requests are answered. Totals that
    /// lag become true after their lag; totals that lie go on lying.
    public func settle() { state.withLock { $0.server.settle() } }

    /// One more event happens.
    /// - Parameters:
    ///   - happening: the change, or the fault.
    ///   - requests: 1 for the next request, 2 for the one behind it.
    public func add(_ happening: OriginEvent.Happening, after requests: Int = 1) {
        state.withLock { $0.server.add(OriginEvent(request: $0.requests.count + requests, happening)) }
    }

    // MARK: What it holds, and what it said

    /// The item as it is compared: with its JSON members in one order, where the origin has none.
    public func canonical(_ item: Item) -> Item {
        plan.habits.shufflesMembers ? SimulatedList.canonical(item) : item
    }

    /// What the list shows now.
    public var items: [Item] { state.withLock { $0.server.list.items } }

    /// What the list showed at first.
    package var original: [Item] { SimulatedList(plan).items }

    /// How many items there are, the hidden ones included.
    package var length: Int { state.withLock { $0.server.list.count } }

    /// The same items as they are compared.
    public var canonicalItems: [Item] { items.map(canonical) }

    /// Every request so far, in order of arrival.
    public var requests: [PageRequest] { state.withLock { $0.requests } }

    /// Whether everything planned has happened, or was settled.
    public var isQuiet: Bool { state.withLock { $0.server.isQuiet } }

    /// The number of the last request before which the list changed; 0 when it never has.
    public var lastChange: Int { state.withLock { $0.server.lastChange } }

    /// Whether items with these identity keys (`ItemIdentity.key`) stood next to each other, in this order, in one
    /// answer given so far.
    public func wasAdjacent(_ first: UInt64, _ second: UInt64) -> Bool {
        state.withLock { $0.server.given.has(first, before: second) }
    }

    /// Whether exactly these bytes under exactly this id were in an answer given so far.
    public func wasGiven(_ item: Item) -> Bool { state.withLock { $0.server.given.has(item) } }

    /// How often each thing has really happened: changes (`insert`), faults (`fault.429`), and what the plan's features
    /// did (`304.totalChanged`, `clamped`, `lag`). What never happened is missing.
    public var hits: [String: Int] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.server.hits.map { ($0.key.rawValue, $0.value) })
                .merging(state.server.tricks.map { ("habit.\($0.key.rawValue)", $0.value) }, uniquingKeysWith: +)
        }
    }

    /// Everything that `hits` can count at an origin without habits.
    public static let countable: [String] = OriginHit.allCases.map(\.rawValue)

    // MARK: Time

    /// How long the request and its answer are under way.
    private func travel(_ number: Int) -> (there: Duration, back: Duration) {
        var chance = SeededGenerator(seed: plan.seed, stream: UInt64(number))
        let share = 1_000
        let whole =
            latency.lowerBound + (latency.upperBound - latency.lowerBound) * chance.number(below: share + 1) / share
        let there = whole * chance.number(below: share + 1) / share
        return (there, whole - there)
    }

    private func pause(_ duration: Duration) async throws {
        guard let clock, duration > .zero else { return }
        try await clock.sleep(until: clock.now() + duration)
    }
}
