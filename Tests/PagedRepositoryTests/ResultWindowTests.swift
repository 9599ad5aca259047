import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

/// An origin counts more items than it returns, and refuses the positions behind its result window (R24).
@Suite("Result windows")
struct ResultWindowTests {
    static let accesses: [PagingAccess] = [.offsets, .grid(size: 10)]

    @Test(
        "A window that ends inside a page is told from a wrong total by the refusal",
        arguments: accesses, [40, 45, 49, 51])
    func insideAPage(_ access: PagingAccess, _ window: Int) async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<103), access: access), window: window)
        for _ in 0..<3 {
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == .limited)
            #expect(try await bench.held == names(0..<window))
        }
        #expect(try await bench.list?.record.window == window)
    }

    @Test("A total that counts too many items, and empty pages behind the end, make a complete list")
    func wrongTotal() async throws {
        let bench = try await SyncBench()
        let list = ListOrigin(names(0..<45))
        list.state.withLock { $0.total = { .exact($0 + 3) } }
        var report = try await ListSync(storage: bench.store, source: list, key: bench.key).run()
        #expect(report.outcome == .complete)
        report = try await ListSync(storage: bench.store, source: list, key: bench.key).run()
        #expect(report.outcome == .complete)
        #expect(try await bench.held == names(0..<45))
    }
}

/// A list of which only the first items can be fetched.
private final class WindowOrigin: PageSource {
    let list: ListOrigin
    let window: Int

    init(_ list: ListOrigin, window: Int) { (self.list, self.window) = (list, window) }

    var access: PagingAccess { list.access }
    var usage: SourceUsage { list.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        var answer = try await list.fetch(request)
        guard case .offset(let offset) = request.target else { return answer }
        if offset >= window { return .pastEnd }
        guard case .page(let page) = answer else { return answer }
        let count = min(page.content.count, window - offset)
        answer = .page(FetchedPage(content: named(list.names[offset..<offset + count]), total: page.total))
        return answer
    }
}
