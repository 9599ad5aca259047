import PageModel
import PagedRepository
import Synchronization
import Testing

@Suite("Lists in memory", .timeLimit(.minutes(20)))
struct EphemeralListTests {
    private let bench = BadInputBench()
    private let rows = Row.list(0..<65)

    private func list(_ source: ItemSource<Row>) -> PagedList<Row> { bench.list(source) { $0.isEphemeral = true } }

    @Test(
        "A list in memory has not ended where its origin refuses a position that the total counts, and a retry goes on",
        arguments: [400, 404, 416])
    func refused(status: Int) async throws {
        let isBroken = Mutex(true)
        let list = list(
            .offsets(pageSize: 20) { offset, size in
                if offset >= 20, isBroken.withLock({ $0 }) { throw FetchFailure.status(status) }
                return ItemPage(items: Array(rows.dropFirst(offset).prefix(size)), total: 65)
            })
        try await list.load()
        for all in [false, true] {
            let failure = await #expect(throws: ListFailure.self) {
                if all { try await list.loadAll() } else { try await list.loadNext() }
            }
            #expect(failure?.kind == .next && failure?.failure.failureClass == .rejected)
            #expect(list.current.failure == failure && list.current.hasMore && list.current.items.count == 20)
            #expect(list.current.total == .exact(65))
        }
        isBroken.withLock { $0 = false }
        #expect(try await list.retry() == .loaded(20))
    }

    @Test(
        "A list in memory by page number is whole, however many items page one leaves out",
        arguments: [0, 1, 2, 5], ["total", "hasMore", "nothing"])
    func shortPageOne(missing: Int, sign: String) async throws {
        for all in [false, true] {
            let list = list(
                .pages(size: 10) { [rows] number, _ in
                    let page = rows.dropFirst((number - 1) * 10).prefix(10).dropFirst(number == 1 ? missing : 0)
                    return ItemPage(
                        items: Array(page), total: sign == "total" ? 65 - missing : nil,
                        hasMore: sign == "hasMore" ? number < 7 : nil)
                })
            try await list.load()
            if all { try await list.loadAll() }
            while list.current.hasMore { try await list.loadNext() }
            #expect(Array(list.current.items) == Array(rows.dropFirst(missing)))
        }
    }

    @Test(
        "A list in memory by page number is whole, however many items page one has beyond the requested ones (R24)",
        arguments: [1, 5, 9], ["total", "hasMore", "nothing"])
    func longPageOne(excess: Int, sign: String) async throws {
        let source = ItemSource<Row>.pages(size: 10) { [rows] number, size in
            let start = number == 1 ? 0 : excess + (number - 1) * size
            let end = min(excess + number * size, rows.count)
            return ItemPage(
                items: Array(rows[min(start, end)..<end]), total: sign == "total" ? rows.count : nil,
                hasMore: sign == "hasMore" ? end < rows.count : nil)
        }
        for all in [false, true] {
            let list = list(source)
            try await list.load()
            if all { try await list.loadAll() }
            while list.current.hasMore { try await list.loadNext() }
            #expect(Array(list.current.items) == rows)
        }
    }

    @Test("A list in memory by offset does not end with a page as long as requested, although page one had more (R24)")
    func pinnedItem() async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { [rows] offset, size -> [Row] in
            (offset == 0 ? [StagedOrigin.row(1_000)] : []) + Array(rows.dropFirst(offset).prefix(size))
        }
        let list = bench.list(source) { ($0.isEphemeral, $0.sync.overlap) = (true, 1) }
        try await list.load()
        for _ in 0..<20 where list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == [StagedOrigin.row(1_000)] + rows && !list.current.hasMore)
    }

    @Test("An item that an answer repeats is in a list in memory once (X6, X7)", arguments: [false, true])
    func repeatedWithinPage(isByNumber: Bool) async throws {
        let rows = rows
        let source: ItemSource<Row> =
            if isByNumber {
                .pages(size: 10) { number, _ in
                    let page = rows.dropFirst((number - 1) * 10).prefix(10)
                    return ItemPage(items: Array(page + page.prefix(1)), total: Int?.none, hasMore: number < 7)
                }
            } else {
                .cursors { (cursor: Int?, _) in
                    let page = rows.dropFirst(cursor ?? 0).prefix(10)
                    let next = (cursor ?? 0) + 10
                    return CursorPage(items: Array(page + page.prefix(1)), next: next < 65 ? next : nil)
                }
            }
        let list = list(source)
        try await list.load()
        while list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == rows && !list.current.allowsDuplicates)
    }

    @Test(
        "A list in memory is whole, although its origin refuses a page that reaches behind its end (R21)",
        arguments: [20, 30], [false, true])
    func refusedBehindEnd(count: Int, all: Bool) async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size -> [Row] in
            if offset + size > count { throw FetchFailure.status(400) }
            return Row.list(offset..<offset + size)
        }
        let list = bench.list(source) { ($0.isEphemeral, $0.sync.overlap) = (true, 1) }
        try await list.load()
        if all { try await list.loadAll() }
        for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == Row.list(0..<count))
        #expect(!list.current.hasMore && list.current.failure == nil)
    }

    @Test("A list in memory is whole, although its origin refuses all offsets but multiples of the page size (R21)")
    func onlyMultiples() async throws {
        let offsets = Mutex<[Int]>([])
        let source = ItemSource<Row>.offsets(pageSize: 10) { [rows] offset, size -> [Row] in
            offsets.withLock { $0.append(offset) }
            if !offset.isMultiple(of: 10) { throw FetchFailure.status(400) }
            return Array(rows.dropFirst(offset).prefix(size))
        }
        let list = bench.list(source) { ($0.isEphemeral, $0.sync.overlap) = (true, 1) }
        try await list.load()
        for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        #expect(Array(list.current.items) == rows && list.current.failure == nil)
        #expect(offsets.withLock(\.self) == [0, 9, 10, 20, 30, 40, 50, 60])
    }

    @Test(
        "The only page of an origin that announces more items is no whole list, in memory as in the store (R24)",
        arguments: [false, true], [false, true])
    func onlyPage(isEphemeral: Bool, isCounted: Bool) async throws {
        let rows = StagedOrigin(33, access: .single, total: { isCounted ? .exact($0) : .unknown })
        let origin = MarkedOrigin(rows) { _, page in if !isCounted { page.hasMore = true } }
        let list = bench.list(origin) { $0.isEphemeral = isEphemeral }
        #expect(try await list.load() == .loaded(10))
        for all in [true, false] {
            let failure = await #expect(throws: ListFailure.self) {
                if all { try await list.loadAll() } else { try await list.loadNext() }
            }
            let expected: FetchFailure.Class = all ? .loop : .unconfirmed
            #expect(failure?.kind == .next && failure?.failure.failureClass == expected)
            #expect(list.current.failure == failure && list.current.hasMore && list.current.items.count == 10)
        }
    }

    @Test("A list in memory that loses its last items ends at the new total, and not with a failure (R24)")
    func shrunk() async throws {
        let total = Mutex(65)
        let list = list(
            .offsets(pageSize: 20) { offset, size in
                let count = total.withLock { $0 }
                if offset >= count { throw FetchFailure.status(416) }
                return ItemPage(items: Array(rows.prefix(count).dropFirst(offset).prefix(size)), total: count)
            })
        try await list.load()
        try await list.loadNext()
        total.withLock { $0 = 40 }
        try await list.loadNext()
        #expect(list.current.items.count == 40 && !list.current.hasMore && list.current.failure == nil)
    }

    @Test(
        "A list in memory whose ids do not identify its items shows them all (R25)",
        arguments: [1, 2, 20, 65], ["offsets", "counted", "pages", "cursors"])
    func repeatedIDs(different: Int, style: String) async throws {
        let rows = rows
        let id: @Sendable (Row) -> String = { "\($0.number % different)" }
        let source: ItemSource<Row> =
            switch style {
            case "offsets":
                .offsets(pageSize: 20, id: id) { offset, size -> [Row] in Array(rows.dropFirst(offset).prefix(size)) }
            case "counted":
                .offsets(pageSize: 20, id: id) { offset, size in
                    ItemPage(items: Array(rows.dropFirst(offset).prefix(size)), total: 65)
                }
            case "pages":
                .pages(size: 20, id: id) { number, size -> [Row] in
                    Array(rows.dropFirst((number - 1) * size).prefix(size))
                }
            default:
                .cursors(id: id) { (cursor: Int?, _) in
                    let offset = cursor ?? 0
                    let next = offset + 20 < 65 ? offset + 20 : nil
                    return CursorPage(items: Array(rows.dropFirst(offset).prefix(20)), next: next)
                }
            }
        let list = list(source)
        try await list.load()
        try await list.loadNext()
        #expect(Array(list.current.items) == Array(rows[..<40]))
        try await list.loadAll()
        #expect(Array(list.current.items) == rows && !list.current.hasMore && list.current.failure == nil)
        #expect(list.current.allowsDuplicates == (different < 65))
    }
}
