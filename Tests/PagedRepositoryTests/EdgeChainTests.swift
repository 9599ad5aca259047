import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// A codec for which rows with certain numbers do not decode.
struct PickyCodec: ItemCodec {
    struct Refused: Error {}
    let refused: Set<Int>
    let undecodable: UndecodableItems<Row>
    private let json = JSONItemCodec<Row>()

    init(_ refused: Set<Int>, _ undecodable: UndecodableItems<Row> = .skip) {
        self.refused = refused
        self.undecodable = undecodable
    }

    var name: String { json.name }
    func encode(_ value: Row) throws -> [UInt8] { try json.encode(value) }
    func decode(_ bytes: ArraySlice<UInt8>) throws -> Row {
        let row = try json.decode(bytes)
        if refused.contains(row.number) { throw Refused() }
        return row
    }
}

/// A source whose requests behind page one can fail.
private struct FailingBehind: PageSource {
    let source: ItemSource<Row>
    let fails: @Sendable () -> Bool

    init(source: ItemSource<Row>, fails: @escaping @Sendable () -> Bool) { (self.source, self.fails) = (source, fails) }

    var access: PagingAccess { source.access }
    var usage: SourceUsage { source.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        if request.target != .first, fails() { throw FetchFailure.status(500) }
        return try await source.fetch(request)
    }
}

@Suite("At the edge of an application: chains that end and go on", .timeLimit(.minutes(20)))
struct EdgeChainTests {
    private let bench = BadInputBench()

    @Test(
        "A chain that had ended has more once its page one names a next page, after a refresh alone (R24)",
        arguments: [0, 5, 20], [true, false])
    func endedChainGrows(held: Int, hasIDs: Bool) async throws {
        let size = held == 5 ? 5 : 20
        let all = Mutex(Row.list(0..<held))
        let named: @Sendable (Row) -> String = { $0.id }
        let id = hasIDs ? named : nil
        let source = ItemSource<Row>.cursors(id: id) { (cursor: Int?, _) in
            let rows = all.withLock { $0 }
            let start = cursor ?? 0
            let end = min(start + size, rows.count)
            return CursorPage(items: Array(rows[start..<end]), next: end < rows.count ? end : nil)
        }
        let list = bench.list(source)
        try await list.load()
        #expect(list.current.items.count == held && !list.current.hasMore)
        // Items without ids that were replaced look like edited ones.
        let grown = hasIDs ? Row.list(0..<60) : Row.list(100..<160)
        all.withLock { $0 = grown }
        try await list.refresh()
        var pages = 0
        while list.current.hasMore, pages < 20 {
            pages += 1
            try await list.loadNext()
        }
        #expect(Array(list.current.items) == grown)
    }

    @Test("A list without items has more if its page one, which has no items either, names a next page (R24)")
    func emptyChainGrows() async throws {
        let hasGrown = Mutex(false)
        let source = ItemSource<Row>.cursors { (cursor: Int?, _) in
            guard hasGrown.withLock({ $0 }) else { return CursorPage(items: [], next: nil) }
            return CursorPage(items: cursor == nil ? [] : Row.list(0..<20), next: cursor == nil ? 1 : nil)
        }
        let list = bench.list(source)
        try await list.load()
        #expect(list.current.displayState == .empty)
        hasGrown.withLock { $0 = true }
        try await list.refresh()
        #expect(list.current.items.map(\.number) == Array(0..<20) && !list.current.hasMore)
    }

    // MARK: Totals

    /// A source that continues behind the last row, and states a total.
    /// - Parameter excess: the difference of its total to the number of rows.
    private func source(_ origin: ChangingOrigin, excess: Int = 0) -> ItemSource<Row> {
        ItemSource<Row>.afterLast(pageSize: 10) { last, size in
            let rows = origin.rows
            let start = last.flatMap { rows.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
            var page = origin.page(start, size)
            page.hasMore = start + page.items.count < rows.count
            page.total = .exact(rows.count + excess)
            return page
        }
    }

    @Test(
        "A refresh, or the load of the last page, finds the change behind page one that the total of a chain shows (R22)",
        arguments: [true, false], [true, false])
    func changeBehindPageOne(isInsert: Bool, isWhole: Bool) async throws {
        let origin = ChangingOrigin(45, total: true)
        let list = bench.list(source(origin))
        try await list.load()
        try await list.loadNext()
        if isWhole { try await list.loadAll() }
        if isInsert { origin.rows.insert(StagedOrigin.row(1_000), at: 15) } else { origin.rows.remove(at: 15) }
        for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        // A load that is not over yet finds the change itself.
        #expect(list.current.items.count == (isWhole ? 45 : origin.rows.count))
        let outcome = try await list.refresh()
        #expect((outcome == .upToDate) != isWhole)
        #expect(Array(list.current.items) == origin.rows)
        #expect(list.current.total == .exact(origin.rows.count))
        #expect(!list.current.hasMore && list.current.failure == nil)
        let before = origin.requests
        #expect(try await list.refresh() == .upToDate)
        #expect(origin.requests == before + 1)
    }

    @Test(
        "A total that a walk of the whole chain did not explain is an estimate, and costs no further walk (R20, R22)",
        arguments: [-3, 3])
    func wrongTotal(excess: Int) async throws {
        let origin = ChangingOrigin(45, total: true)
        let list = bench.list(source(origin, excess: excess))
        try await list.load()
        for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        try await list.refresh()
        for _ in 0..<3 {
            let before = origin.requests
            #expect(try await list.refresh() == .upToDate)
            #expect(origin.requests == before + 1)
            #expect(Array(list.current.items) == origin.rows)
            #expect(list.current.total.exactCount == nil && list.current.failure == nil && !list.current.hasMore)
        }
    }

    @Test("A page that fails in the walk after a refresh is the failure of the refresh, whose retry walks again (R37)")
    func failingWalk() async throws {
        let origin = ChangingOrigin(45, total: true)
        let fails = Mutex(false)
        let rows = source(origin)
        let list = bench.list(FailingBehind(source: rows) { fails.withLock { $0 } })
        try await list.loadAll()
        origin.rows.remove(at: 15)
        fails.withLock { $0 = true }
        let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(failure?.kind == .refresh && list.current.failure == failure)
        fails.withLock { $0 = false }
        try await list.retry()
        #expect(Array(list.current.items) == origin.rows && list.current.failure == nil)
    }

    // MARK: Items that do not decode

    @Test(
        "Items that do not decode hide no other item of a chain, whichever loads follow (R7, R14)",
        arguments: [24, 60], [false, true])
    func undecodableInChain(count: Int, beginsWithRefresh: Bool) async throws {
        let refused: Set = [2, 7, 9, 40]
        let source = ItemSource<Row>.cursors(codec: PickyCodec(refused)) { (cursor: Int?, _) in
            let start = cursor ?? 0
            let end = min(start + 24, count)
            return CursorPage(items: Row.list(start..<end), next: end < count ? end : nil)
        }
        let list = ListRepository(storage: bench.storage, source: source, clock: bench.clock).list(bench.key)
        try await list.load()
        if beginsWithRefresh { try await list.refresh() }
        for call in 0..<4 {
            if call % 2 == 0 { try await list.loadAll() } else { try await list.refresh() }
            #expect(list.current.items.map(\.number) == (0..<count).filter { !refused.contains($0) })
            #expect(!list.current.hasMore && list.current.gaps.isEmpty && list.current.failure == nil)
        }
    }

    @Test("A walk by the last item continues behind an item that does not decode, in a later process, too (R7, R22)")
    func undecodableLast() async throws {
        let refused: Set = [23, 47]
        let rows = Row.list(0..<60)
        func list() -> PagedList<Row> {
            let source = ItemSource<Row>.afterLast(pageSize: 24, codec: PickyCodec(refused)) { last, size in
                let start = (last?.number ?? -1) + 1
                return ItemPage(
                    items: Array(rows.dropFirst(start).prefix(size)), total: Int?.none,
                    hasMore: start + size < rows.count)
            }
            return ListRepository(storage: bench.storage, source: source, clock: bench.clock).list(bench.key)
        }
        let first = list()
        try await first.load()
        #expect(try await first.loadNext() == .loaded(23))
        let second = list()
        #expect(try await second.loadNext() == .loaded(12))
        for process in [first, second, list()] {
            try await process.loadAll()
            #expect(process.current.items.map(\.number) == (0..<60).filter { !refused.contains($0) })
            #expect(!process.current.hasMore && process.current.failure == nil)
        }
    }
}
