import PageModel
import PageStore
import PagedRepository
import Synchronization
import Testing

/// An origin counts more items than it returns, and answers later positions with its last full page (R24).
@Suite("The last page in place of positions that the total counts")
struct LastPageAgainTests {
    @Test(
        "An origin that returns its last full page for each later position below its total is limited, by few requests",
        arguments: [PagingAccess.offsets, .grid(size: 20)], [1, 4])
    func lastFullPage(access: PagingAccess, concurrency: Int) async throws {
        for (count, total) in [(100, 250), (100, 2_000), (140, 10_000)] {
            let bench = try await SyncBench()
            let origin = ListOrigin(names(0..<count), access: access, size: 20)
            origin.state.withLock { $0.total = { _ in .exact(total) } }
            let source = LastPageAgain(list: origin, last: count - 20)
            var options = SyncOptions()
            options.concurrency = concurrency
            for _ in 0..<2 {
                let before = origin.requests.count
                let report = try await ListSync(
                    storage: bench.store, source: source, key: bench.key, options: options
                ).run()
                #expect(report.outcome == .limited && report.limit == .resultWindow)
                #expect(try await bench.held == names(0..<count))
                #expect(origin.requests.count - before <= count / 20 + 24)
            }
            #expect(try await bench.list?.record.resultWindow == count)
            // A sweep verifies the items up to the window.
            options.work = .sweep
            let before = origin.requests.count
            let swept = try await ListSync(
                storage: bench.store, source: source, key: bench.key, options: options
            ).run()
            #expect(swept.outcome == .limited && swept.reconciliation == .swept)
            #expect(try await bench.held == names(0..<count))
            #expect(origin.requests.count - before <= count / 20 + 12)
        }
    }

    @Test(
        "A list that moves by a whole page between two requests returns the same page twice, and has no result window",
        arguments: [PagingAccess.offsets, .grid(size: 20)], [0, 1])
    func movedByOnePage(access: PagingAccess, overlap: Int) async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<200), access: access, size: 20)
        // The total stays the same.
        origin.before { number, list in
            if number == 4 { list = names(200..<220) + list.dropLast(20) }
        }
        var options = SyncOptions()
        (options.concurrency, options.overlap) = (1, overlap)
        let report = try await ListSync(storage: bench.store, source: origin, key: bench.key, options: options).run()
        #expect(report.outcome == .complete)
        #expect(try await bench.list?.record.resultWindow == nil)
        #expect(try await bench.held == origin.names)
    }
}
