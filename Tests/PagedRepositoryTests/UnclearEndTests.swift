import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// An origin of 48 rows that accepts overlapping requests and answers each with the rows that the test chooses.
private final class ChosenRowsOrigin: PageSource {
    private let asked = Mutex(0)
    private let answer: @Sendable (Int) -> Range<Int>

    /// - Parameter answer: Returns the numbers of the rows to answer for an offset.
    init(_ answer: @escaping @Sendable (Int) -> Range<Int>) { self.answer = answer }

    var access: PagingAccess { .offsets }
    var usage: SourceUsage { SourceUsage(requests: asked.withLock { $0 }) }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        asked.withLock { $0 += 1 }
        let offset = if case .offset(let offset) = request.target { offset } else { 0 }
        let codec = JSONItemCodec<Row>()
        let items = try Row.list(answer(offset)).map { RawItem(payload: try codec.encode($0), id: $0.id) }
        return .page(FetchedPage(content: PageContent(items), total: .exact(48)))
    }
}

/// Ways in which an origin fails to return the next page without saying so.
private enum Evasion: CaseIterable {
    /// Each answer gives a different total.
    case otherTotals
    /// The total is larger than the number of items that the origin returns.
    case nothingThere
    /// The answer holds other positions than the requested ones.
    case otherPlaces

    func source() throws -> any PageSource {
        switch self {
        case .otherTotals:
            let count = Mutex(100)
            return ItemSource<Row>.offsets(pageSize: 10) { offset, size in
                ItemPage(
                    items: Row.list(offset..<offset + size),
                    total: count.withLock {
                        $0 += 1; return $0
                    })
            }
        case .nothingThere:
            return ItemSource<Row>.offsets(pageSize: 10) { offset, _ in
                ItemPage(items: offset == 0 ? Row.list(0..<10) : [], total: 48)
            }
        case .otherPlaces:
            return ChosenRowsOrigin { $0 == 0 ? 0..<10 : min($0 + 20, 38)..<min($0 + 30, 48) }
        }
    }
}

@Suite("Origins that give a wrong or no next page, or a wrong end", .timeLimit(.minutes(20)))
struct UnclearEndTests {
    private let bench = BadInputBench()

    // MARK: Continuation

    @Test(
        "A cursor that repeats, at once or later, is reported as a loop, and the items read so far are kept (R24)",
        arguments: [1, 2])
    func repeatedCursor(length: Int) async throws {
        let source = ItemSource<Row>.cursors(pageSize: 10) { (cursor: Int?, _) in
            // Page one leads into the circle.
            let page = cursor ?? 0
            return CursorPage(items: Row.list(page * 10..<page * 10 + 10), next: page % length + 1)
        }
        let list = bench.list(source)
        try await list.load()
        for _ in 0..<length { #expect(try await list.loadNext() == .loaded(10)) }
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(
            failure?.kind == .next && failure?.failure.failureClass == .loop && failure?.failure.isRetryable == false)
        #expect(list.current.failure == failure && list.current.failingPages == 1)
        #expect(list.current.hasMore && list.current.end == nil, "a loop is not the end")
        try await bench.expectServed(0..<(length + 1) * 10, list)
        #expect(source.usage.requests <= 2 * 21 + 5)
    }

    @Test("Empty pages that lead on without end are a loop (R24)")
    func emptyForEver() async throws {
        let source = ItemSource<Row>.cursors { (cursor: Int?, _) in
            CursorPage(items: cursor == nil ? Row.list(0..<10) : [], next: (cursor ?? 0) + 1)
        }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.failure.failureClass == .loop)
        #expect(list.current.hasMore)
        try await bench.expectServed(0..<10, list)
        #expect(source.usage.requests <= 2 * 1_001)
    }

    @Test(
        "A page that announces more without a way to it is not the end: the next load fails, and a retry fetches it again (R24)"
    )
    func leavesOff() async throws {
        let isCured = Mutex(false)
        let source = ItemSource<Row>.cursors(pageSize: 10) { (cursor: Int?, _) in
            let start = cursor ?? 0
            let leads = start == 0 || start == 10 && isCured.withLock { $0 }
            return CursorPage(items: Row.list(start..<start + 10), next: leads ? start + 10 : nil, hasMore: start < 20)
        }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(
            failure?.kind == .next && failure?.failure.failureClass == .undecodable
                && failure?.failure.isRetryable == false)
        #expect(failure?.nextAttemptAt == nil)
        #expect(list.current.hasMore && list.current.end == nil && list.current.failingPages == 1)
        try await bench.expectServed(0..<10, list)
        #expect(source.usage.requests == 2)
        isCured.withLock { $0 = true }
        #expect(try await list.retry() == .loaded(10))
        #expect(try await list.loadNext() == .loaded(10))
        try await bench.expectServed(0..<30, list)
        #expect(!list.current.hasMore && list.current.failure == nil && list.current.failingPages == 0)
    }

    @Test(
        "A page one that announces more without a way to it fails the refresh of a cached list, or the first load (R24, R14)",
        arguments: [true, false])
    func headLeavesOff(isLoaded: Bool) async throws {
        let leads = Mutex(isLoaded)
        let source = ItemSource<Row>.cursors(pageSize: 10) { (cursor: Int?, _) in
            let start = cursor ?? 0
            let next = start < 20 && (start > 0 || leads.withLock { $0 }) ? start + 10 : nil
            return CursorPage(items: Row.list(start..<start + 10), next: next, hasMore: start < 20)
        }
        let list = bench.list(source)
        if isLoaded { try await list.loadAll() }
        leads.withLock { $0 = false }
        let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(failure?.kind == (isLoaded ? .refresh : .first) && failure?.failure.failureClass == .undecodable)
        try await bench.expectServed(0..<(isLoaded ? 30 : 0), list)
        leads.withLock { $0 = true }
        try await list.retry()
        #expect(list.current.failure == nil)
        try await bench.expectServed(0..<(isLoaded ? 30 : 10), list)
    }

    @Test("An empty page that announces more is not the end (R24)")
    func emptyLeavesOff() async throws {
        let source = ItemSource<Row>.afterLast(pageSize: 10) { last, _ in
            ItemPage(items: last == nil ? Row.list(0..<10) : [], hasMore: true)
        }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.failure.failureClass == .undecodable)
        #expect(list.current.hasMore && list.current.end == nil)
        try await bench.expectServed(0..<10, list)
        #expect(source.usage.requests <= 3)
    }

    @Test(
        "A load of the next page adds items, reaches the end or shows a failure, and never does nothing (R35)",
        arguments: Evasion.allCases)
    private func neverNothing(evasion: Evasion) async throws {
        let source = try evasion.source()
        let list = bench.list(source) { $0.sync.overlap = 1 }
        try await list.load()
        _ = try? await list.loadNext()
        let now = list.current
        #expect(now.items.count > 10 || !now.hasMore || now.failure?.kind == .next)
        try await bench.expectServed(0..<now.items.count, list)
        #expect(source.usage.requests <= 2 * 21 + 5)
    }

    @Test("The overlapping item reveals an answer for another page, and no item of that answer is kept (R21)")
    func otherPlaces() async throws {
        let source = try Evasion.otherPlaces.source()
        let list = bench.list(source) { $0.sync.overlap = 1 }
        try await list.load()
        _ = try? await list.loadNext()
        try await bench.expectServed(0..<10, list)
        #expect(list.current.segments.allSatisfy { $0.items.allSatisfy { $0.number < 10 } })
        #expect(list.current.hasMore)
    }

    // MARK: Length

    @Test("A chain whose total changes with each answer is read to its end, and is read again once (R22)")
    func otherTotals() async throws {
        let count = Mutex(100)
        let source = ItemSource<Row>.cursors(pageSize: 10) { (cursor: Int?, _) in
            let start = cursor ?? 0
            return CursorPage(
                items: Row.list(start..<start + 10), next: start < 20 ? start + 10 : nil,
                total: count.withLock {
                    $0 += 1; return $0
                })
        }
        let list = bench.list(source)
        try await list.load()
        for _ in 0..<2 { #expect(try await list.loadNext() == .loaded(10)) }
        #expect(!list.current.hasMore)
        // The load that reaches the end reads the list again, because its total counts more.
        #expect(source.usage.requests <= 3 + 12)
        try await bench.expectServed(0..<30, list)
        for _ in 0..<3 {
            let before = source.usage.requests
            #expect(try await list.refresh() == .upToDate)
            #expect(source.usage.requests == before + 1)
            try await bench.expectServed(0..<30, list)
            #expect(!list.current.hasMore && list.current.failure == nil)
        }
    }

    @Test("A next page that is empty once, although the total is larger, is fetched again (R20)")
    func emptyOnce() async throws {
        let count = Mutex(0)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let isEmpty =
                count.withLock {
                    $0 += 1; return $0
                } == 2
            return ItemPage(items: isEmpty ? [] : Row.list(offset..<offset + size), total: 100)
        }
        let list = bench.list(source)
        try await list.load()
        #expect(try await list.loadNext() == .loaded(10))
        try await bench.expectServed(0..<20, list)
        #expect(source.usage.requests == 3)
    }

    @Test("An empty answer for a list with items is unconfirmed for a minute, and then believed (R20, G6)")
    func emptied() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.loadAll()
        origin.rows = []
        for _ in 0..<3 {
            let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
            #expect(
                failure?.kind == .refresh && failure?.failure.failureClass == .unconfirmed
                    && failure?.nextAttemptAt != nil
            )
            #expect(list.current.failure == failure && list.current.total == .exact(48) && !list.current.hasMore)
            try await bench.expectServed(0..<48, list)
            bench.clock.advance(by: .seconds(10))
        }
        bench.clock.advance(by: .seconds(31))
        #expect(try await list.refresh() == .changed)
        #expect(list.current.displayState == .empty && list.current.failure == nil)
        #expect(origin.requests.count == 5 + 4)
    }

    // MARK: Streams without a reader

    @Test("An unread stream keeps one snapshot and 1,024 events, blocks no load and ends with the newest snapshot")
    func neverReads() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        let (snapshots, events) = (list.snapshots, list.events)
        for _ in 0..<1_200 {
            origin.fail(.status(503))
            _ = try? await list.loadNext()
        }
        #expect(origin.requests.count == 1_201)
        try await list.reset()
        var read = 0
        for await event in events {
            read += 1
            if case .reset = event { break }
        }
        #expect((1_000...1_024).contains(read), "\(read)")
        var newest = snapshots.makeAsyncIterator()
        #expect(await newest.next()?.displayState == .nothing)
    }
}
