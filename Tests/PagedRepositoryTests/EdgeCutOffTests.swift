import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("At the edge of an application: lists that their origin cuts off", .timeLimit(.minutes(20)))
struct EdgeCutOffTests {
    enum Style: CaseIterable, Sendable { case offsets, pages }

    /// Returns a source whose origin counts all rows, and returns none of them from position 30 on.
    private func source(_ style: Style, _ rows: @escaping @Sendable () -> [Row]) -> ItemSource<Row> {
        let answer: @Sendable (Int, Int) -> ItemPage<Row> = { offset, size in
            let all = rows()
            return ItemPage(items: Array(all.prefix(30).dropFirst(offset).prefix(size)), total: all.count)
        }
        switch style {
        case .offsets: return .offsets(pageSize: 10) { offset, size in answer(offset, size) }
        case .pages: return .pages(size: 10) { number, size in answer((number - 1) * size, size) }
        }
    }

    @Test(
        "Inserts do not complete a list of which the origin returns only the first items (R24, R35)",
        arguments: Style.allCases, [1, 3, 9, 12, 25])
    func inserted(style: Style, count: Int) async throws {
        for isWhole in [false, true] {
            let rows = Mutex(Row.list(0..<65))
            let repository = BadInputBench().repository(source(style) { rows.withLock(\.self) }) {
                $0 = PagedListOptions()
            }
            let list = repository.list("rows")
            func load() async throws {
                try await list.load()
                if isWhole { try await list.loadAll() }
                for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
            }
            await #expect(throws: ListFailure.self) { try await load() }
            rows.withLock { $0.insert(contentsOf: Row.list(100..<100 + count), at: 0) }
            for _ in 0..<3 {
                let failure = await #expect(throws: ListFailure.self) { try await load() }
                #expect(failure?.kind == .next && list.current.failure == failure && list.current.hasMore)
                #expect(list.current.total == .exact(65 + count))
                let shown = Array(list.current.items)
                #expect(shown.count >= 30 && shown == Array(rows.withLock(\.self).prefix(shown.count)))
            }
        }
    }

    @Test("A list in memory is cut off where a stored one is (R15, R24)", arguments: Style.allCases)
    func inMemory(style: Style) async throws {
        let list = BadInputBench().list(source(style) { Row.list(0..<65) }) { $0.isEphemeral = true }
        try await list.load()
        for _ in 0..<2 {
            let failure = await #expect(throws: ListFailure.self) {
                for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
            }
            #expect(failure?.failure.message == "the origin counts 65 items and returns only the first 30")
            #expect(list.current.failure == failure && list.current.hasMore && list.current.items.count == 30)
            #expect(list.current.total == .exact(65))
        }
        await #expect(throws: ListFailure.self) { try await list.loadAll() }
    }

    @Test("A window behind the last page number that an origin accepts hides no page from scrolling (R24)")
    func windowBehindLastPage() async throws {
        let rows = Row.list(0..<52)
        let bench = BadInputBench()
        let repository = bench.repository(
            ItemSource<Row>.pages(size: 9) { number, size in
                ItemPage(items: Array(rows.dropFirst((min(number, 3) - 1) * size).prefix(size)), total: 52)
            })
        let list = repository.list(bench.key)
        try await list.load()
        _ = try await repository.page(bench.key, offset: 30, limit: 4)
        await #expect(throws: ListFailure.self) {
            for _ in 0..<10 where list.current.hasMore { try await list.loadNext() }
        }
        #expect(Array(list.current.items) == Array(rows.prefix(27)))
        #expect(list.current.hasMore && list.current.total == .exact(52))
    }

    @Test("A list that never changes is not reported as one that changed or shrank")
    func unchangedList() async throws {
        let rows = Row.list(0..<52)
        let bench = BadInputBench()
        let source = ItemSource<Row>.offsets(pageSize: 9) { offset, size in
            ItemPage(items: Array(rows.dropFirst(min(offset, 27 - size)).prefix(size)), total: 52)
        }
        let repository = bench.repository(source) { $0 = PagedListOptions() }
        let list = repository.list(bench.key)
        try await list.load()
        _ = try? await repository.page(bench.key, offset: 30, limit: 4)
        var messages: [String] = []
        for _ in 0..<4 {
            do { try await list.loadAll() } catch let failure as ListFailure { messages.append("\(failure)") }
            do { try await list.loadNext() } catch let failure as ListFailure { messages.append("\(failure)") }
            do { try await list.refresh() } catch let failure as ListFailure { messages.append("\(failure)") }
        }
        #expect(!messages.isEmpty)
        #expect(messages.allSatisfy { !$0.contains("kept changing") && !$0.contains("shrunk") }, "\(messages)")
    }
}
