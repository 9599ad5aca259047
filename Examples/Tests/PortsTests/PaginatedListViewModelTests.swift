import PagedRepository
import PagedRepositoryTesting
import Ports
import Synchronization
import Testing

@Suite("PaginatedListViewModel, ported", .timeLimit(.minutes(1)))
@MainActor
struct PaginatedListViewModelTests {
    private struct Away: Error {}

    /// An API that returns the start of the next page, and fails once at the start that the test chooses.
    private final class Pages: Sendable {
        let asked = Mutex<[Int?]>([])
        let failsAt = Mutex<Int?>(nil)

        func page(_ start: Int?) throws -> CursorPage<String, Int> {
            asked.withLock { $0.append(start) }
            let fails = failsAt.withLock { failing in
                defer { if failing == start { failing = nil } }
                return failing != nil && failing == start
            }
            if fails { throw Away() }
            let range = (start ?? 0)..<min((start ?? 0) + 10, 25)
            return CursorPage(items: range.map(String.init), next: range.upperBound < 25 ? range.upperBound : nil)
        }
    }

    @Test("Each page hands over the next, a failed page is requested again, and a reset begins with page one")
    func followsThePages() async throws {
        let pages = Pages()
        let source = ItemSource.cursors { (start: Int?, _) in try pages.page(start) }
        // One attempt, so that the run does not retry the request by itself.
        var options = PagedListOptions()
        options.sync.retry.attempts = 1
        let repository = ListRepository(storage: try await SQLitePageStore.inMemory(), source: source)
        let list = repository.list("names", source: source, options: options)
        let names = PaginatedListViewModel(list)
        #expect(names.items.isEmpty && !names.loading && !names.exhausted && names.lastError == nil)
        await names.loadNextPage()
        pages.failsAt.withLock { $0 = 10 }
        await names.loadNextPage()
        #expect(names.lastError is Away && !names.loading && names.items.count == 10)
        await names.loadNextPage()
        #expect(names.lastError == nil && !names.exhausted)
        await names.loadNextPage()
        #expect(names.exhausted && names.items.elementsEqual((0..<25).map(String.init)))
        await names.loadNextPage()
        #expect(pages.asked.withLock { $0 } == [nil, 10, 10, 20])
        await names.reset()
        #expect(names.items.isEmpty && !names.exhausted && names.lastError == nil)
        await names.loadNextPage()
        #expect(pages.asked.withLock { $0.last } == .some(nil) && names.items.count == 10)
    }
}
