import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("Simulated origin")
struct SimulatedOriginTests {
    @Test("The same seed gives the same plan and the same answers, and another seed gives others")
    func deterministic() async throws {
        for seed in 0..<100 as Range<UInt64> {
            let plan = OriginPlan(seed: seed)
            #expect(plan == OriginPlan(seed: seed))
            let answers = await ListWalker(SimulatedOrigin(plan)).answers(to: 80)
            #expect(await ListWalker(SimulatedOrigin(plan)).answers(to: 80) == answers)
        }
        #expect(Set((0..<100).map { OriginPlan(seed: $0).description }).count == 100)
    }

    @Test(
        "A walk over an unchanging list returns all of its items exactly", arguments: OriginPlan.Style.allCases,
        OriginPlan.Identity.allCases)
    func quietWalk(style: OriginPlan.Style, identity: OriginPlan.Identity) async throws {
        for (count, size) in zip([0, 1, 6, 7, 8, 14, 60, 60, 60], [nil, nil, nil, nil, nil, nil, nil, 4, 30]) {
            for (saysHasMore, pastEnd) in [(false, .emptyPage), (true, .refused)] as [(Bool, OriginPlan.PastEnd)] {
                let origin = SimulatedOrigin(
                    OriginPlan(
                        style: style, count: count, pageSize: 7, largestPage: 9, totals: .none, pastEnd: pastEnd,
                        saysHasMore: saysHasMore, identity: identity))
                let walked = try await ListWalker(origin).walk(size: size)
                #expect(walked == origin.items)
                #expect(walked.count == count)
                #expect(origin.lastChange == 0)
                #expect(walked.allSatisfy { origin.wasGiven($0) })
            }
        }
    }

    @Test("Ids are unique unless the plan repeats them, and payloads contain the id and the version")
    func identities() async throws {
        let items = SimulatedOrigin(OriginPlan(count: 50)).items
        #expect(Set(items.map(\.id)).count == 50)
        #expect(items[17] == RawItem(payload: Array(#"{"id":"i17","v":1}"#.utf8), id: "i17"))

        let bare = SimulatedOrigin(OriginPlan(count: 50, identity: .none)).items
        #expect(bare.allSatisfy { $0.id == nil })
        #expect(Set(bare.map(\.payload)).count == 50)

        let repeating = SimulatedOrigin(OriginPlan(count: 50, identity: .repeating)).items
        #expect(Set(repeating.map(\.id)).count == 43)
    }

    @Test("Changes happen before their request, and faults affect only their request")
    func events() async throws {
        let origin = SimulatedOrigin(
            OriginPlan(
                count: 10, pageSize: 4,
                events: [
                    .before(2, .delete(at: .start, count: 2)),
                    .before(2, .insert(at: .number(1, of: 9), count: 1)),
                    .on(3, .tooManyRequests(retryAfter: .milliseconds(700))),
                    .before(3, .edit(at: .start)),
                    .before(5, .move(from: .start, to: .end)),
                    .before(6, .delete(at: .end, count: 0)),
                ]))
        #expect(try await origin.names(.first) == ["i0", "i1", "i2", "i3"])
        #expect(try await origin.names(.first) == ["i2", "i10", "i3", "i4"])
        let failure = await #expect(throws: FetchFailure.self) { try await origin.fetch(PageRequest(.first)) }
        #expect(failure == .status(429, retryAfter: .milliseconds(700)))
        #expect(origin.lastChange == 3)
        #expect(try await origin.page(.first).content.items[0].payload == Array(#"{"id":"i2","v":2}"#.utf8))
        #expect(!origin.isQuiet)
        #expect(try await origin.names(.first) == ["i10", "i3", "i4", "i5"])
        #expect(origin.items.last?.id == "i2")
        // The deletion has a count of zero, so the list does not change.
        _ = try await origin.page(.first)
        #expect(origin.lastChange == 5)
        #expect(origin.isQuiet)
        #expect(origin.occurrences == ["delete": 1, "insert": 1, "edit": 1, "move": 1, "fault.429": 1])
        #expect(origin.usage.requests == 6)
    }

    @Test("A settled origin has no further faults and changes")
    func settled() async throws {
        let faults = [OriginFault.transport, .emptyAnswer, .internalError].enumerated().map {
            OriginEvent.on(2 + $0.offset, $0.element)
        }
        let origin = SimulatedOrigin(OriginPlan(count: 10, events: faults + [.before(3, .replaceAll(count: 4))]))
        _ = try await origin.page(.first)
        #expect(!origin.isQuiet)
        origin.cancelEvents()
        #expect(origin.isQuiet)
        for _ in 2...5 { #expect(try await origin.page(.first).total == .exact(10)) }
        #expect(origin.occurrences.isEmpty)
    }

    @Test(
        "A keyset walk returns a resorted or replaced list completely",
        arguments: [
            OriginChange.resort(seed: 5), .replaceAll(count: 30), .move(from: .start, to: .end),
            .move(from: .end, to: .middle),
        ])
    func reordered(change: OriginChange) async throws {
        let origin = SimulatedOrigin(OriginPlan(style: .keyset, count: 40, pageSize: 7, events: [.before(2, change)]))
        let before = origin.items
        _ = try await origin.page(.first)
        #expect(try await ListWalker(origin).walk() == origin.items)
        #expect(origin.items != before)
        #expect(Set(origin.items) == Set(before) || change == .replaceAll(count: 30))
        #expect(Set(origin.items).isDisjoint(with: before) == (change == .replaceAll(count: 30)))
    }

    @Test("A keyset continues after a deleted item, and a position skips an item")
    func continuation() async throws {
        func second(_ style: OriginPlan.Style, _ change: OriginChange) async throws -> [String] {
            let origin = SimulatedOrigin(OriginPlan(style: style, count: 20, pageSize: 5, events: [.before(2, change)]))
            let next = try #require(try await origin.page(.first).next)
            return try await origin.names(.cursor(next))
        }
        let lastOfPageOne = OriginChange.delete(at: .number(4, of: 20), count: 1)
        #expect(try await second(.keyset, lastOfPageOne) == ["i5", "i6", "i7", "i8", "i9"])
        #expect(try await second(.cursor, lastOfPageOne) == ["i6", "i7", "i8", "i9", "i10"])
        #expect(try await second(.link, lastOfPageOne) == ["i6", "i7", "i8", "i9", "i10"])

        // All items around the position are deleted. New items before and after the position are distinguished.
        let around = OriginChange.delete(at: .number(2, of: 20), count: 8)
        #expect(try await second(.keyset, around) == ["i10", "i11", "i12", "i13", "i14"])
        #expect(
            try await second(.keyset, .insert(at: .number(5, of: 21), count: 2)) == ["i20", "i21", "i5", "i6", "i7"])
        #expect(try await second(.keyset, .insert(at: .number(4, of: 21), count: 2)) == ["i5", "i6", "i7", "i8", "i9"])
        #expect(try await second(.cursor, .insert(at: .start, count: 1)) == ["i4", "i5", "i6", "i7", "i8"])
    }

    @Test("A hundred inserts at one position keep their order by key")
    func crowdedKeys() async throws {
        let events = (2...101).map { OriginEvent.before($0, .insert(at: .number(3, of: 5 + $0), count: 1)) }
        let origin = SimulatedOrigin(OriginPlan(style: .keyset, count: 6, pageSize: 3, events: events))
        let next = try #require(try await origin.page(.first).next)
        for _ in 2...101 { _ = try await origin.page(.first) }
        #expect(try await origin.names(.cursor(next), size: 200).prefix(2) == ["i105", "i104"])
        #expect(try await ListWalker(origin).walk() == origin.items)
    }

    // MARK: Memory of answers

    @Test("Items are adjacent if one answer contained them in that order")
    func adjacency() async throws {
        let origin = SimulatedOrigin(OriginPlan(count: 20, pageSize: 5))
        func key(_ number: Int) -> UInt64 { ItemIdentity.key(ofID: "i\(number)") }
        #expect(!origin.wasAdjacent(key(0), key(1)))
        _ = try await origin.page(.first)
        _ = try await origin.page(.offset(5))
        #expect(origin.wasAdjacent(key(0), key(1)))
        #expect(!origin.wasAdjacent(key(1), key(0)))
        #expect(!origin.wasAdjacent(key(0), key(2)))
        // Both items were returned, but not in one answer.
        #expect(!origin.wasAdjacent(key(4), key(5)))
        _ = try await origin.page(.offset(4))
        #expect(origin.wasAdjacent(key(4), key(5)))
        #expect(origin.wasGiven(origin.items[9]))
        #expect(!origin.wasGiven(origin.items[10]))
        #expect(!origin.wasGiven(RawItem(payload: origin.items[0].payload, id: "i1")))
    }

    @Test("Requests take their latency on the injected clock and count the bytes of their items")
    func costs() async throws {
        let clock = ManualClock()
        let origin = SimulatedOrigin(
            OriginPlan(count: 3), clock: clock, latency: .milliseconds(40)...(.milliseconds(90)))
        let start = clock.now()
        for _ in 0..<10 { _ = try await origin.page(.first) }
        #expect((.milliseconds(400)...(.milliseconds(900))).contains(clock.now() - start + .milliseconds(10)))
        #expect(origin.usage == SourceUsage(requests: 10, bytesReceived: 10 * 3 * 17))
        #expect(origin.requests == Array(repeating: PageRequest(.first), count: 10))
    }

    @Test("A request that is held back is answered from the list at the time it continues")
    func interleaving() async throws {
        let gate = Gate()
        let origin = SimulatedOrigin(
            OriginPlan(count: 5, events: [.before(2, .append(count: 1)), .on(1, .shortPage)]),
            before: { number in if number == 1 { await gate.wait() } })
        async let first = origin.page(.first)
        await gate.reached()
        #expect(try await origin.page(.first).content.count == 6)
        gate.open()
        // The fault of the request still applies to it.
        #expect(try await first.content.count == 3)
        #expect(try await first.total == .exact(6))
    }
}

/// A gate at which one request waits.
private final class Gate: Sendable {
    private let (waiting, arrived) = AsyncStream<Void>.makeStream()
    private let (opening, opened) = AsyncStream<Void>.makeStream()

    func wait() async {
        arrived.yield()
        for await _ in opening { return }
    }

    /// Returns once a request waits.
    func reached() async { for await _ in waiting { return } }

    func open() { opened.yield() }
}
