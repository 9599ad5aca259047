import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("At the edge of an application: ends that the origin contradicts", .timeLimit(.minutes(20)))
struct EdgeEndTests {
    private let bench = BadInputBench()
    private let rows = Row.list(0..<65)

    private func offsets(
        _ answer: @escaping @Sendable (_ offset: Int, _ size: Int) throws -> ItemPage<Row>
    ) -> ItemSource<Row> { .offsets(pageSize: 20) { offset, size in try answer(offset, size) } }

    private func part(_ offset: Int, _ size: Int, total: Int? = nil, hasMore: Bool? = nil) -> ItemPage<Row> {
        ItemPage(items: Array(rows.dropFirst(offset).prefix(size)), total: total, hasMore: hasMore)
    }

    // MARK: Clamping origins

    @Test(
        "An exact total that is reached ends a list in memory, as it ends a stored one (R24)", arguments: [true, false])
    func clamped(isEphemeral: Bool) async throws {
        let list = bench.list(
            offsets { offset, size in
                let start = min(offset, 45)
                return part(start, size, total: 65)
            }
        ) { $0.isEphemeral = isEphemeral }
        try await list.load()
        for count in [20, 20, 5] { #expect(try await list.loadNext() == .loaded(count)) }
        #expect(try await list.loadNext() == .endReached)
        #expect(list.current.pagesLoaded == 4 && list.current.total == .exact(65) && !list.current.hasMore)
    }

    @Test("A list in memory without a total ends when the origin repeats its last page (R24)")
    func clampedWithoutTotal() async throws {
        let list = bench.list(offsets { offset, size in part(min(offset, 45), size) }) { $0.isEphemeral = true }
        try await list.loadAll()
        #expect(Array(list.current.items) == rows && !list.current.hasMore)
    }

    // MARK: Pages without items

    @Test(
        "A page without items that reports more is not an end: the next page follows it", arguments: [true, false],
        [1, 2])
    func emptyPages(isEphemeral: Bool, empty: Int) async throws {
        let list = bench.list(
            offsets { offset, size in
                if offset % 20 == 0, (20..<20 + 20 * empty).contains(offset) {
                    return ItemPage(items: [], total: Int?.none, hasMore: true)
                }
                return part(offset, size, hasMore: offset + size < 65)
            }
        ) { $0.isEphemeral = isEphemeral }
        try await list.load()
        let outcome = try await list.loadNext()
        #expect(list.current.items.count > 20, "\(outcome)")
        try await list.loadAll()
        #expect(list.current.items.last == rows.last && !list.current.hasMore)
    }

    @Test("Endless pages without items end a load with a failure, and the list has more", arguments: [true, false])
    func endlessEmptyPages(isEphemeral: Bool) async throws {
        let requests = Mutex(0)
        let list = bench.list(
            offsets { offset, size in
                requests.withLock { $0 += 1 }
                return ItemPage(
                    items: Array(rows[..<20].dropFirst(offset).prefix(size)), total: Int?.none, hasMore: true)
            }
        ) { $0.isEphemeral = isEphemeral }
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.failure.failureClass == .unconfirmed && failure?.kind == .next)
        #expect(list.current.hasMore && list.current.failure == failure && list.current.items.count == 20)
        #expect(requests.withLock { $0 } < 40)
    }

    @Test("A page one without items that has a next page is followed at once", arguments: [true, false])
    func emptyPageOne(isEphemeral: Bool) async throws {
        let source = ItemSource<Row>.cursors { (cursor: Int?, _) in
            let offset = cursor ?? -20
            return CursorPage(
                items: offset < 0 ? [] : Array(rows.dropFirst(offset).prefix(20)), next: offset < 60 ? offset + 20 : nil
            )
        }
        let list = bench.list(source) { $0.isEphemeral = isEphemeral }
        #expect(try await list.load() == .loaded(20))
        #expect(list.current.displayState == .items)
    }

    @Test(
        "A list without items whose origin reports more shows a failure that a retry repeats", arguments: [true, false])
    func emptyList(isEphemeral: Bool) async throws {
        let list = bench.list(offsets { _, _ in ItemPage(items: [], total: Int?.none, hasMore: true) }) {
            $0.isEphemeral = isEphemeral
        }
        let failure = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.displayState == .firstFailed(try #require(failure)) && list.current.hasMore)
        await #expect(throws: ListFailure.self) { try await list.retry() }
    }

    @Test("A total with no items is a contradiction, and not the end of the list", arguments: [true, false])
    func countedAndMissing(isEphemeral: Bool) async throws {
        let answers = Mutex(0)
        let list = bench.list(
            offsets { offset, size in
                answers.withLock { answers in
                    answers += 1
                    return answers > 3 ? part(offset, size, total: 65) : ItemPage(items: [], total: 65)
                }
            }
        ) { $0.isEphemeral = isEphemeral }
        for call in 0..<3 {
            let failure = await #expect(throws: ListFailure.self) {
                switch call {
                case 0: try await list.load()
                case 1: try await list.loadNext()
                default: try await list.loadAll()
                }
            }
            #expect(failure?.failure.failureClass == .unconfirmed)
            #expect(list.current.hasMore && list.current.failure == failure)
            #expect(list.current.displayState == .firstFailed(try #require(failure)))
        }
        try await list.retry()
        #expect(list.current.items.count == 20 && list.current.failure == nil)
    }

    // MARK: Chains

    @Test("A chain that repeats page one against its exact total is a loop", arguments: [0, 1], [true, false])
    func stuckChain(style: Int, all: Bool) async throws {
        let source: ItemSource<Row> =
            style == 0
            ? .afterLast(pageSize: 20) { _, size in ItemPage(items: Array(rows.prefix(size)), total: 65) }
            : .cursors { (_: Int?, _) in CursorPage(items: Array(rows.prefix(20)), next: 20, total: 65) }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) {
            all ? try await list.loadAll() : try await list.loadNext()
        }
        #expect(failure?.failure.failureClass == .loop)
        #expect(list.current.hasMore && list.current.items.count == 20)
    }

    @Test("A load to the end that misses the end throws, and its failure is shown")
    func missedEnd() async throws {
        let source = ItemSource<Row>.cursors { (cursor: Int?, _) in
            let offset = cursor ?? 0
            let next = offset + 20 < 65 ? offset + 20 : nil
            return CursorPage(
                items: Array(rows.dropFirst(offset).prefix(20)), next: next, total: Int?.none, hasMore: true)
        }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadAll() }
        #expect(failure?.failure.failureClass == .undecodable && list.current.failure == failure)
        #expect(list.current.items.count == 60)
    }

    @Test("A refresh keeps the items of a chain that begins again at its end")
    func wrappingChain() async throws {
        let source = ItemSource<Row>.cursors { (cursor: Int?, _) in
            let offset = cursor ?? 0
            return CursorPage(items: (0..<20).map { rows[(offset + $0) % 65] }, next: offset + 20)
        }
        let list = bench.list(source)
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadAll() }
        #expect(failure?.failure.failureClass == .loop && Array(list.current.items) == rows)
        try await list.refresh()
        #expect(Array(list.current.items) == rows)
    }

    // MARK: Totals

    @Test(
        "A list with a total that is too large ends at its last item, by scrolling and by loading it whole",
        arguments: [true, false])
    func overcounted(all: Bool) async throws {
        let list = bench.list(offsets { offset, size in part(offset, size, total: 100) })
        try await list.load()
        if all {
            try await list.loadAll()
        } else {
            for count in [20, 20, 5] { #expect(try await list.loadNext() == .loaded(count)) }
            #expect(try await list.loadNext() == .endReached)
        }
        #expect(Array(list.current.items) == rows && !list.current.hasMore && list.current.failure == nil)
        #expect(list.current.total == .estimate(100))
    }

    @Test(
        "A list that its origin cuts off below an exact total has more, and every load behind the cut fails (R24, R35)",
        arguments: [true, false])
    func cutOff(all: Bool) async throws {
        let source = ItemSource<Row>.pages(size: 10) { number, size in
            part((min(number, 3) - 1) * size, size, total: 65)
        }
        let repository = bench.repository(source) { $0 = PagedListOptions() }
        let list = repository.list(bench.key)
        try await list.load()
        for _ in 0..<2 {
            let failure = await #expect(throws: ListFailure.self) {
                if all { try await list.loadAll() }
                for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
            }
            #expect(failure?.kind == .next && list.current.failure == failure)
            #expect(list.current.hasMore && list.current.end == 65 && list.current.total == .exact(65))
            #expect(Array(list.current.items) == Array(rows.prefix(30)))
        }
        let window = try await repository.page(bench.key, offset: 25, limit: 10)
        #expect(window.items.map(\.number) == Array(25..<30) && window.missing == [30..<35])
    }

    @Test("A page without items that the total counts hides no other page from scrolling")
    func hole() async throws {
        let list = bench.list(
            offsets { offset, size in offset == 20 ? ItemPage(items: [], total: 65) : part(offset, size, total: 65) })
        try await list.load()
        var pages = 0
        while list.current.hasMore, pages < 10 {
            pages += 1
            try await list.loadNext()
        }
        #expect(Array(list.current.items) == rows)
    }

    @Test("A total below the number of held items is raised to it", arguments: [0, 1, 20])
    func undercounted(total: Int) async throws {
        let source = ItemSource<Row>.cursors { (cursor: Int?, _) in
            let offset = cursor ?? 0
            let next = offset + 20 < 65 ? offset + 20 : nil
            return CursorPage(items: Array(rows.dropFirst(offset).prefix(20)), next: next, total: total)
        }
        let list = bench.list(source)
        try await list.loadAll()
        #expect(Array(list.current.items) == rows && list.current.total.count ?? 65 >= 65)
        try await list.refresh()
        #expect(list.current.total.count ?? 65 >= 65)
    }

    @Test("An exact total stays exact although the origin always reports more")
    func alwaysMore() async throws {
        let list = bench.list(offsets { offset, size in part(offset, size, total: 65, hasMore: true) })
        try await list.load()
        var pages = 0
        while list.current.hasMore, pages < 10 {
            pages += 1
            try await list.loadNext()
        }
        #expect(list.current.items.count == 65 && list.current.total == .exact(65))
    }

    // MARK: Limits

    @Test("A load to the end stops at the item limit", arguments: [true, false], [1, 20, 30])
    func itemLimit(isEphemeral: Bool, limit: Int) async throws {
        let requests = Mutex(0)
        let list = bench.list(
            offsets { offset, size in
                requests.withLock { $0 += 1 }
                return ItemPage(items: Row.list(offset..<offset + size), total: Int?.none)
            }
        ) { ($0.isEphemeral, $0.itemLimit) = (isEphemeral, limit) }
        try await list.load()
        let outcome = try await list.loadAll()
        #expect(limit > 20 ? outcome == .loaded(10) : outcome == .itemLimitReached)
        #expect(list.current.items.count == limit && list.current.isAtItemLimit && requests.withLock { $0 } < 6)
        #expect(try await list.loadNext() == .itemLimitReached)
    }

    @Test("Retries without a pause do not repeat a request for ever", arguments: [1, 8, Int.max])
    func zeroPauses(attempts: Int) async throws {
        let list = bench.list(
            offsets { offset, size in
                guard offset == 0 else { throw FetchFailure.status(503) }
                return part(offset, size, total: 65)
            }
        ) { $0.sync.retry = RetrySchedule(attempts: attempts, base: .zero, cap: .zero, longestRetryAfter: .zero) }
        try await list.load()
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
    }
}
