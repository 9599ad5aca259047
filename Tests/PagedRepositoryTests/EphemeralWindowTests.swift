import PageModel
import PagedRepository
import Synchronization
import Testing

/// Counts requests, and fails each one after the hundredth, so that an endless load ends.
///
/// State: the count, under a mutex.
private final class RequestCount: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func add() throws {
        let now = count.withLock { count in
            count += 1
            return count
        }
        if now > 100 { throw FetchFailure.status(500) }
    }
}

@Suite("Windows of lists in memory", .timeLimit(.minutes(20)))
struct EphemeralWindowTests {
    private let bench = BadInputBench()
    private let rows = Row.list(0..<31)

    private func repository(_ source: ItemSource<Row>) -> ListRepository<Row> {
        bench.repository(source) { $0.isEphemeral = true }
    }

    @Test(
        "A window at the end of a list without a total misses nothing, and one behind an unknown end misses everything",
        arguments: ["offsets", "pages", "cursors"])
    func behindEnd(style: String) async throws {
        let rows = rows
        let requests = RequestCount()
        let source: ItemSource<Row> =
            switch style {
            case "offsets":
                .offsets(pageSize: 18) { offset, size -> [Row] in
                    try requests.add()
                    return Array(rows.dropFirst(offset).prefix(size))
                }
            case "pages":
                .pages(size: 18) { number, size -> [Row] in
                    try requests.add()
                    return Array(rows.dropFirst((number - 1) * size).prefix(size))
                }
            default:
                .cursors { (cursor: Int?, _) in
                    try requests.add()
                    let offset = cursor ?? 0
                    return CursorPage(
                        items: Array(rows.dropFirst(offset).prefix(18)), next: offset < 13 ? offset + 18 : nil)
                }
            }
        let repository = repository(source)
        for range in [21..<41, 21..<26, 18..<31, 40..<60, 0..<60] {
            let before = requests.value
            let window = try await repository.page("rows", offset: range.lowerBound, limit: range.count)
            #expect(window.items.map(\.number) == Array(range.clamped(to: 0..<31)), "\(range)")
            // Positions behind the end show no item before them, as in a stored window. A chain is read from page one.
            let isUnknown = range.lowerBound > 31 && style != "cursors"
            #expect(window.missing == (isUnknown ? [range] : []), "\(range) \(window.missing)")
            if range.upperBound > 31 { #expect(window.end == (isUnknown ? nil : 31), "\(range)") }
            #expect(requests.value - before <= 4, "\(range)")
        }
    }

    @Test("The rest of a short page below an exact total is missing, and is not requested again")
    func shortPage() async throws {
        let requests = RequestCount()
        let repository = repository(
            .pages(size: 10) { number, size in
                try requests.add()
                let first = (number - 1) * size
                return ItemPage(items: Row.list(first..<first + (number == 2 ? 8 : size)), total: 30)
            })
        let window = try await repository.page("rows", offset: 0, limit: 30)
        #expect(window.segments.map(\.range) == [0..<18, 20..<30])
        #expect(window.missing == [18..<20] && window.end == 30)
        #expect(requests.value == 3)
    }

    @Test("Items that a chain repeats are in a window once (R5)")
    func repeated() async throws {
        let rows = rows
        let repository = repository(
            .cursors { (cursor: Int?, _) in
                let offset = cursor ?? 0
                return CursorPage(
                    items: Array(rows.dropFirst(offset).prefix(10)), next: offset + 10 < 31 ? offset + 9 : nil)
            })
        let window = try await repository.page("rows", offset: 5, limit: 40)
        #expect(window.items.map(\.number) == Array(5..<31))
        #expect(window.missing.isEmpty && window.end == 31)
    }

    @Test("A counted position that the origin does not find is missing, and a window without an item fails (R24)")
    func notFound() async throws {
        let repository = repository(
            .offsets(pageSize: 10) { offset, size in
                guard offset < 10 else { throw FetchFailure.status(404) }
                return ItemPage(items: Row.list(offset..<offset + size), total: 65)
            })
        let window = try await repository.page("rows", offset: 0, limit: 20)
        #expect(window.items.map(\.number) == Array(0..<10) && window.missing == [10..<20])
        let failure = await #expect(throws: ListFailure.self) {
            try await repository.page("rows", offset: 20, limit: 10)
        }
        #expect(failure?.failure.httpStatus == 404)
    }

    @Test(
        "A window of a list in memory has no item twice and none missing, if the list changes between its requests",
        arguments: [true, false], [true, false])
    func changedMeanwhile(hasTotal: Bool, byPage: Bool) async throws {
        for isInsert in [true, false] where isInsert || hasTotal {
            for request in 2...4 {
                let state = Mutex((rows: Row.list(0..<60), requests: 0))
                @Sendable func part(_ offset: Int, _ count: Int) -> ItemPage<Row> {
                    state.withLock { state in
                        state.requests += 1
                        if state.requests == request {
                            if isInsert {
                                state.rows.insert(StagedOrigin.row(1_000), at: 0)
                            } else {
                                state.rows.remove(at: 0)
                            }
                        }
                        return ItemPage(
                            items: Array(state.rows.dropFirst(offset).prefix(count)),
                            total: hasTotal ? state.rows.count : nil)
                    }
                }
                let repository = repository(
                    byPage
                        ? .pages(size: 10) { number, size in part((number - 1) * size, size) }
                        : .offsets(pageSize: 10) { offset, size in part(offset, size) })
                let window = try await repository.page("rows", offset: 0, limit: 40)
                let items = window.segments.flatMap { Array($0.items) }
                #expect(Array(items) == Array(state.withLock { $0.rows }.prefix(40)), "\(isInsert) at \(request)")
            }
        }
    }
}
