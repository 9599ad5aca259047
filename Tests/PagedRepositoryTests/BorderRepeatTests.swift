import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// A chain of items whose cursor is the position of the next page. Items may repeat, and the total may be wrong.
///
/// State: the number of requests, under a mutex. After 300 requests every request fails, so that an endless
/// run ends.
private final class ChainOrigin: Sendable {
    private let count = Mutex(0)
    let total: Int?
    /// Whether each page begins with the last item of the page before.
    let isInclusive: Bool
    private let rows: [Row]

    init(_ rows: [Row], total: Int?, isInclusive: Bool = false) {
        (self.rows, self.total, self.isInclusive) = (rows, total, isInclusive)
    }

    var requests: Int { count.withLock { $0 } }

    var source: ItemSource<Row> {
        ItemSource<Row>.cursors(pageSize: 10) { (cursor: Int?, size: Int?) in
            let size = size ?? 10
            let requests = self.count.withLock {
                $0 += 1
                return $0
            }
            guard requests < 300 else { throw FetchFailure(.rejected, "too many", isRetryable: false) }
            let rows = self.rows
            let start = cursor ?? 0, end = min(start + size, rows.count)
            let next = end < rows.count ? end - (self.isInclusive ? 1 : 0) : nil
            return CursorPage(items: Array(rows[min(start, end)..<end]), next: next, total: self.total)
        }
    }
}

@Suite("Chains whose pages repeat items at their borders", .timeLimit(.minutes(20)))
struct BorderRepeatTests {
    private let bench = BadInputBench()

    /// Items of which the one at `place` has the id of the one before it.
    private func rows(_ count: Int, repeating place: Int, isAlike: Bool) -> [Row] {
        (0..<count).map { Row(id: "\($0 == place ? $0 - 1 : $0)", number: isAlike && $0 == place ? $0 - 1 : $0) }
    }

    private func sync(_ origin: ChainOrigin) async throws -> SyncReport {
        try await ListSync(
            storage: bench.storage, source: origin.source, key: bench.key, clock: PatientClock(bench.clock)
        ).run()
    }

    private func numbers() async throws -> [Int] {
        let source = ChainOrigin([], total: nil).source
        let list = ListRepository(storage: bench.storage, source: source, clock: bench.clock).list(bench.key)
        try await list.load(.cacheOnly)
        return list.current.items.map(\.number)
    }

    @Test(
        "An item that repeats at a border is kept, once a second walk has received it again (R25)",
        arguments: [true, false], [true, false])
    func borderRepeat(hasTotal: Bool, isAlike: Bool) async throws {
        let rows = rows(60, repeating: 10, isAlike: isAlike)
        let origin = ChainOrigin(rows, total: hasTotal ? 60 : nil)
        #expect(try await sync(origin).outcome == .complete)
        #expect(try await numbers() == rows.map(\.number))
        #expect(origin.requests <= 24, "\(origin.requests)")
    }

    @Test("An inclusive cursor repeats no item, whatever the total counts (R24)", arguments: [nil, 60, 63, 57])
    func inclusive(total: Int?) async throws {
        let rows = rows(60, repeating: -1, isAlike: true)
        let origin = ChainOrigin(rows, total: total, isInclusive: true)
        #expect(try await sync(origin).outcome == .complete)
        #expect(try await numbers() == Array(0..<60))
        #expect(origin.requests <= 24, "\(origin.requests)")
        let before = origin.requests
        #expect(try await sync(origin).outcome == .complete)
        #expect(origin.requests - before <= 2)
    }

    @Test("An item deleted from a walked page is noticed, although one is appended (R20)", arguments: [15, 25, 5])
    func deletedBehind(place: Int) async throws {
        let state = Mutex((rows: rows(60, repeating: -1, isAlike: true), requests: 0))
        let source = ItemSource<Row>.cursors(pageSize: 10) { (last: Int?, _) in
            let rows = state.withLock { state in
                state.requests += 1
                if state.requests == 5 {
                    state.rows.remove(at: place)
                    state.rows.append(Row(id: "new", number: 99))
                }
                return state.rows
            }
            let rest = rows.filter { $0.number > last ?? -1 }
            return CursorPage(
                items: Array(rest.prefix(10)), next: rest.count > 10 ? rest[9].number : nil, total: rows.count)
        }
        let report = try await ListSync(
            storage: bench.storage, source: source, key: bench.key, clock: PatientClock(bench.clock)
        ).run()
        #expect(report.outcome == .complete)
        #expect(try await numbers() == state.withLock { $0.rows.map(\.number) })
    }

    @Test("A refresh alone of a chain whose total has changed is incomplete (R22)")
    func refreshAlone() async throws {
        let storage = bench.storage
        let first = ChainOrigin(rows(45, repeating: -1, isAlike: true), total: 45)
        _ = try await sync(first)
        let grown = ChainOrigin(rows(46, repeating: -1, isAlike: true), total: 46)
        var options = SyncOptions()
        options.work = .refresh
        for _ in 0..<2 {
            let report = try await ListSync(
                storage: storage, source: grown.source, key: bench.key, options: options, clock: bench.clock
            ).run()
            #expect(report.outcome == .incomplete)
        }
        #expect(try await sync(grown).outcome == .complete)
        #expect(try await numbers() == Array(0..<46))
    }

    @Test(
        "A last page that names itself as the next keeps its items; only a total proves the end (R24)",
        arguments: [45, nil])
    func selfLink(total: Int?) async throws {
        let source = ItemSource<Row>.cursors(pageSize: 10) { (cursor: Int?, _) in
            let start = cursor ?? 0
            let rows = Row.list(start..<min(start + 10, 45))
            return CursorPage(items: rows, next: start + 10 < 45 ? start + 10 : start, total: total)
        }
        for _ in 0..<2 {
            let report = try await ListSync(
                storage: bench.storage, source: source, key: bench.key, clock: PatientClock(bench.clock)
            ).run()
            #expect(report.outcome == (total == nil ? .unproven : .complete))
            #expect(try await numbers() == Array(0..<45))
        }
    }
}

@Suite("Grids without a total whose last page is full", .timeLimit(.minutes(20)))
struct FullLastPageTests {
    private let bench = BadInputBench()

    @Test(
        "Rows that are deleted at the end, and rows that are appended, are found by the next run",
        arguments: [0, 1, 5, 10], [0, 3, 8])
    func changes(deleted: Int, appended: Int) async throws {
        for saysMore in [false, true] {
            let rows = Mutex(Row.list(0..<60))
            let source = ItemSource<Row>.pages(size: 10) { number, size in
                rows.withLock { rows in
                    let start = min((number - 1) * size, rows.count)
                    let end = min(start + size, rows.count)
                    return ItemPage(items: Array(rows[start..<end]), hasMore: saysMore ? end < rows.count : nil)
                }
            }
            let key = QueryKey("\(saysMore)")
            let sync = ListSync(
                storage: bench.storage, source: source, key: key, clock: PatientClock(bench.clock))
            #expect(try await sync.run().outcome == .complete)
            rows.withLock {
                $0.removeLast(deleted)
                $0 += Row.list(100..<100 + appended)
            }
            #expect(try await sync.run().outcome == .complete)
            let list = ListRepository(storage: bench.storage, source: source, clock: bench.clock).list(key)
            try await list.load(.cacheOnly)
            #expect(list.current.items.map(\.number) == rows.withLock { $0.map(\.number) }, "\(saysMore)")
        }
    }

    @Test("A total that is always too low and drops shows that the list has become shorter (R20)")
    func lowTotal() async throws {
        let count = Mutex(60)
        let source = ItemSource<Row>.pages(size: 10) { number, size in
            let count = count.withLock { $0 }
            let start = (number - 1) * size
            guard start < count else { throw FetchFailure.status(404) }
            return ItemPage(items: Row.list(start..<min(start + size, count)), total: count - 3)
        }
        let sync = ListSync(storage: bench.storage, source: source, key: bench.key, clock: PatientClock(bench.clock))
        _ = try await sync.run()
        _ = try await sync.run()
        count.withLock { $0 = 22 }
        #expect(try await sync.run().outcome == .complete)
        let list = ListRepository(storage: bench.storage, source: source, clock: bench.clock).list(bench.key)
        try await list.load(.cacheOnly)
        #expect(list.current.items.map(\.number) == Array(0..<22))
    }
}
