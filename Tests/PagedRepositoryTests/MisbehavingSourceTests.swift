import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A list in memory whose source misbehaves, with the checks that hold all the same. The cache is served, no item is
/// invented, and no fetch stays under way.
struct BadInputBench: Sendable {
    let storage: MemoryStorage
    /// The clock of a bench on a manual clock, which is the default.
    var clock: ManualClock { storage.manualClock }
    let key = QueryKey("rows")

    init(_ clock: any StorageClock = ManualClock()) { storage = MemoryStorage(clock: clock) }

    func repository(_ source: any PageSource, _ change: (inout PagedListOptions) -> Void = { _ in }) -> ListRepository<
        Row
    > {
        var options = PagedListOptions()
        // Pages are fetched in order and without overlap, so that a test can count requests.
        options.sync.overlap = 0
        options.sync.concurrency = 1
        change(&options)
        return ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, jitter: { 0.5 },
            source: { _ in source })
    }

    func list(_ source: any PageSource, _ change: (inout PagedListOptions) -> Void = { _ in }) -> PagedList<Row> {
        repository(source, change).list(key)
    }

    /// The outline of the list. `nil` while the list is not registered.
    var outline: ListOutline? {
        get async throws {
            guard let record = try await storage.query(key) else { return nil }
            return try await storage.outline(of: record.id)
        }
    }

    /// Checks that the list shows exactly these rows, holds no others, and has no work or lease under way.
    func expectServed(
        _ numbers: Range<Int>, _ list: PagedList<Row>, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let now = list.current
        #expect(now.items.map(\.number) == Array(numbers), sourceLocation: sourceLocation)
        #expect(
            now.segments.reduce(0) { $0 + ($1.isHeld ? $1.items.count : 0) } == numbers.count,
            sourceLocation: sourceLocation)
        #expect(now.activity == .idle && !now.isLoading && !now.isLoadingNext, sourceLocation: sourceLocation)
        let ledger = try await outline?.ledger ?? []
        #expect(ledger.allSatisfy { $0.state != .inFlight && $0.leaseOwner == nil }, sourceLocation: sourceLocation)
    }
}

extension Row {
    static func list(_ numbers: Range<Int>) -> [Row] { numbers.map(StagedOrigin.row) }
}

/// Blocks each caller, cancelled or not, until the gate is opened.
///
/// State: whether the gate is open, and the waiting callers, under a mutex.
private final class Gate: Sendable {
    private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    var hasVisitors: Bool { state.withLock { !$0.waiting.isEmpty } }

    func pass() async {
        await withCheckedContinuation { visitor in
            let goesOn = state.withLock { state in
                if !state.isOpen { state.waiting.append(visitor) }
                return state.isOpen
            }
            if goesOn { visitor.resume() }
        }
    }

    func open() {
        let visitors = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for visitor in visitors { visitor.resume() }
    }
}

@Suite("A list whose source misbehaves", .timeLimit(.minutes(20)))
struct MisbehavingSourceTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "the origin does not answer", isRetryable: true)

    // MARK: Sources that throw

    @Test("A source that throws CancellationError on its own fails like any other, and the next call fetches again")
    func cancelsItself() async throws {
        let count = Mutex(0)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            if count.withLock({
                $0 += 1; return $0
            }) == 1 {
                throw CancellationError()
            }
            return ItemPage(items: Row.list(offset..<offset + size), total: 48)
        }
        let list = bench.list(source)
        let failure = await #expect(throws: ListFailure.self) { try await list.load() }
        try await bench.expectServed(0..<0, list)
        #expect(failure?.failure.failureClass == .transport && list.current.failure == failure)
        #expect(!list.current.isLoaded)
        #expect(try await list.load() == .loaded(10))
        #expect(source.usage.requests == 2)
    }

    @Test("A complete list stays complete when page one is answered and the second request for its end fails (R14)")
    func endFails() async throws {
        let origin = StagedOrigin(30, access: .chain, total: nil)
        let list = bench.list(origin)
        try await list.loadAll()
        try await bench.expectServed(0..<30, list)
        origin.fail(nil, away)
        _ = try? await list.loadAll()
        try await bench.expectServed(0..<30, list)
        // Three pages, page one once more after the walk, and two that fail.
        #expect(origin.requests.count == 3 + 1 + 2)
    }

    // MARK: Sources that hang or answer late

    @Test("A next page that never arrives fails with a timeout in the ledger, and a later load fetches it (X14)")
    func hangs() async throws {
        let origin = StagedOrigin()
        try await bench.list(origin).load()
        var deaf = ItemSource<Row>.offsets(pageSize: 10) { _, _ -> [Row] in
            // The loop ends only when its task is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return []
        }
        deaf.timeLimit = .milliseconds(5)
        let list = bench.list(deaf)
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.kind == .next && failure?.failure.failureClass == .timeout)
        #expect(list.current.failure == failure && list.current.failingPages == 1)
        try await bench.expectServed(0..<10, list)
        let entry = try #require(try await bench.outline?.failures.first)
        #expect(entry.offset == 10 && entry.state == .failedRetryable)
        #expect(entry.nextAttemptAt == bench.clock.now() + .milliseconds(250))
        #expect(deaf.usage.requests == 1)
        #expect(try await bench.list(origin).loadNext() == .loaded(10))
        #expect(try await bench.outline?.failures == [])
    }

    @Test("An answer that arrives after its caller was cancelled is stored and not fetched again (X12)")
    func answersLate() async throws {
        // The time in which a cancelled call may still answer does not end during the test.
        try await AbandonableSource.$grace.withValue(.seconds(3_600)) {
            let origin = StagedOrigin()
            origin.ignoreCancellation()
            let list = bench.list(origin)
            try await list.load()
            origin.hold()
            let next = Task { try await list.loadNext() }
            await origin.reached(2)
            next.cancel()
            await #expect(throws: CancellationError.self) { try await next.value }
            #expect(list.current.failure == nil)
            #expect(list.current.isLoadingNext, "the source is still running")
            origin.release()
            while list.current.activity != .idle { await Task.yield() }
            try await bench.expectServed(0..<20, list)
            #expect(list.current.failure == nil)
            #expect(try await list.loadNext() == .loaded(10))
            #expect(origin.requests.count == 3)
        }
    }

    @Test("The answer of a superseded next page is dropped when the list was replaced meanwhile (X4, R4)")
    func answersLateForAnotherList() async throws {
        let gate = Gate()
        let shown = Mutex(Row.list(0..<48))
        var source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let answer = shown.withLock { Array($0.dropFirst(offset).prefix(size)) }
            if offset > 0 { await gate.pass() }
            return ItemPage(items: answer, total: 48)
        }
        // A time limit would drop the answer when the load is cancelled. Without one the source runs to its end.
        source.timeLimit = nil
        let list = bench.list(source)
        try await list.load()
        let next = Task { try await list.loadNext() }
        while !gate.hasVisitors { await Task.yield() }
        shown.withLock { $0 = Row.list(100..<148) }
        try await list.refresh()
        #expect(try await next.value == .superseded)
        gate.open()
        while try await bench.outline?.ledger.contains(where: { $0.state == .inFlight }) == true { await Task.yield() }
        try await bench.expectServed(100..<110, list)
        #expect(try await list.loadNext() == .loaded(10))
        try await bench.expectServed(100..<120, list)
    }

    // MARK: Wrong answers

    @Test(
        "One wrong page, whichever it is, is repaired without duplicates and without missing items (R5, G2)",
        arguments: [
            0..<10, 20..<30, 40..<48,
        ])
    func wrongPageOnce(answer: Range<Int>) async throws {
        let count = Mutex(0)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let isWrong =
                count.withLock {
                    $0 += 1; return $0
                } == 2
            return ItemPage(items: Row.list(isWrong ? answer : offset..<min(offset + size, 48)), total: 48)
        }
        let list = bench.list(source)
        try await list.load()
        for _ in 0..<20 where list.current.hasMore { try await list.loadNext() }
        try await bench.expectServed(0..<48, list)
        #expect(!list.current.hasMore && list.current.failure == nil && list.current.failingPages == 0)
        #expect(source.usage.requests <= 10)
    }

    @Test(
        "A page one returned for every request is reported as a loop, and page one stays as it was (R24)",
        arguments: [48, nil])
    func alwaysPageOne(total: Int?) async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { _, _ in ItemPage(items: Row.list(0..<10), total: total)
        }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(
            failure?.kind == .next && failure?.failure.failureClass == .loop && failure?.failure.isRetryable == false)
        #expect(list.current.failure == failure && list.current.failingPages == 1)
        #expect(list.current.hasMore, "a loop is not the end")
        try await bench.expectServed(0..<10, list)
        #expect(source.usage.requests <= 12)
    }

    @Test("Page one stays held while the origin returns it for all other positions (G6)")
    func pageOneMeanwhile() async throws {
        let held = Mutex<[Int]>([])
        let source = ItemSource<Row>.offsets(pageSize: 10) { [bench] _, _ in
            if let list = try await bench.outline, list.record.validatedAt != nil {
                held.withLock { $0.append(list.coverage.headEnd) }
            }
            return ItemPage(items: Row.list(0..<10), total: 48)
        }
        let list = bench.list(source)
        try await list.load()
        _ = try? await list.loadNext()
        #expect(held.withLock { !$0.isEmpty && $0.allSatisfy { $0 == 10 } }, "\(held.withLock { $0 })")
    }
}
