import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("At the edge of an application: chains that end and go on", .timeLimit(.minutes(20)))
struct EdgeChainTests {
    private let bench = BadInputBench()

    @Test(
        "A chain that had ended has more once its page one names a next page, after a refresh alone (R24)",
        arguments: [0, 5, 20], [true, false])
    func endedChainGrows(held: Int, hasIDs: Bool) async throws {
        let size = held == 5 ? 5 : 20
        let all = Mutex(Row.list(0..<held))
        let id: (@Sendable (Row) -> String)? = hasIDs ? { $0.id } : nil
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

    @Test("A list without items has more once its page one names a next page and has no items either (R24)")
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
}
