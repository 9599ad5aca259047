import PagedRepository
import PagedRepositoryTesting
import Ports
import Testing

/// A row that does not decode as a `Row`.
private struct OtherRow: Codable, Identifiable, Sendable { let id: String }

@Suite("PagingList, ported", .timeLimit(.minutes(1)))
@MainActor
struct PagingListTests {
    @Test("The screen loads by itself, scrolling loads the rest, and the end disables paging")
    func scrolls() async throws {
        let bench = try await Bench()
        let screen = PagingListModel(bench.list)
        #expect(screen.state == .fullscreenLoading)
        await until { screen.state == .items }
        while screen.state != .disabled, !Task.isCancelled {
            for row in screen.items.indices { screen.rowAppeared(at: row) }
            await Task.yield()
        }
        #expect(screen.items.map(\.id) == Array(0..<48) && bench.origin.requests.count == 5)
    }

    @Test("Each failed request has its state, and a retry asks for the same page")
    func retries() async throws {
        let bench = try await Bench()
        bench.origin.fail(Bench.away)
        let screen = PagingListModel(bench.list)
        await until { if case .fullscreenError = screen.state { true } else { false } }
        await screen.retry()
        #expect(screen.state == .items)
        bench.origin.fail(Bench.away)
        screen.rowAppeared(at: 9)
        await until { if case .pagingError = screen.state { true } else { false } }
        for row in 0..<10 { screen.rowAppeared(at: row) }
        await bench.list.settled()
        await screen.retry()
        #expect(bench.origin.requests.map(\.target) == [.first, .first, .offset(10), .offset(10)])
        #expect(screen.items.count == 20)
        bench.origin.fail(Bench.away)
        await screen.refresh()
        #expect(screen.state == .items && screen.items.count == 20, "a failed refresh keeps the items")
    }

    @Test("Rows that do not decode are an error, and not the empty view")
    func unusable() async throws {
        let origin = ItemOrigin((0..<5).map { OtherRow(id: "row \($0)") }, pageSize: 10)
        let store = try await SQLitePageStore.inMemory()
        let list = ListRepository(
            storage: store, codec: JSONItemCodec<Row>(), clock: ManualClock(), source: { _ in origin }
        ).list("rows")
        let screen = PagingListModel(list)
        await until { screen.state != .fullscreenLoading }
        guard case .fullscreenError = screen.state else {
            Issue.record("\(screen.state)")
            return
        }
    }

    @Test("An API without rows shows the empty view")
    func empty() async throws {
        let bench = try await Bench()
        bench.origin.items = []
        let screen = PagingListModel(bench.list)
        await until { screen.state == .fullscreenEmpty }
    }
}
