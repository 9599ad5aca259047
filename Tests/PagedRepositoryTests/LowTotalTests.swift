import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// The origin's total is sometimes wrong: it counts fewer items than the origin returns, or more.
@Suite("Wrong totals of a complete list")
struct LowTotalTests {
    static let accesses: [PagingAccess] = [.offsets, .grid(size: 10), .chain]

    @Test(
        "A total below the returned items removes none of them (R20)", arguments: accesses, [15, 35, 40, 59])
    func belowReturned(_ access: PagingAccess, _ total: Int) async throws {
        let clock = ManualClock()
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        #expect(try await bench.sync(origin, clock).outcome == .complete)
        for claimed in [total, 60, total] {
            origin.state.withLock { $0.total = { _ in .exact(claimed) } }
            #expect(try await bench.sync(origin, clock).outcome == .complete)
            #expect(try await bench.held == names(0..<60))
        }
    }

    @Test("A complete list has no result window, so that a later wrong total does not make it limited (R24)")
    func windowOfCompleteList() async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<60))
        func sync(counting total: Int) async throws -> SyncReport {
            origin.state.withLock { $0.total = { _ in .exact(total) } }
            return try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
        }
        #expect(try await sync(counting: 90).outcome == .limited)
        let limited = try #require(try await bench.list)
        #expect(limited.coveredShare == 60.0 / 90 && limited.record.resultWindow == 60)
        #expect(try await sync(counting: 60).outcome == .complete)
        #expect(try await bench.list?.record.resultWindow == nil)
        #expect(try await sync(counting: 40).outcome == .complete)
        #expect(try await bench.held == names(0..<60))
    }
}
