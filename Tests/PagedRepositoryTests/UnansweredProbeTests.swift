import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

/// The origin answers page one, and does not answer positions far behind the held items.
@Suite("Probes of positions that an origin does not answer")
struct UnansweredProbeTests {
    private let clock = ManualClock()

    private func sync(
        _ bench: SyncBench, _ origin: ShallowOrigin, _ change: (inout SyncOptions) -> Void
    ) async throws -> SyncReport {
        try await bench.sync(origin, clock, change)
    }

    /// Returns the first six of 50 pages. The origin has more items by now, and fails from position 200 on.
    private func partlyHeld(
        inserted: Int, _ failure: FetchFailure
    ) async throws -> (SyncBench, ListOrigin, ShallowOrigin) {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<1_000), size: 20)
        let shallow = ShallowOrigin(list: origin, end: 200, failure: failure)
        _ = try await sync(bench, shallow) { $0.maxPages = 6 }
        origin.names.insert(contentsOf: names(2_000..<2_000 + inserted), at: 0)
        clock.advance(by: .seconds(100))
        return (bench, origin, shallow)
    }

    @Test("A refresh requests no position behind the held items (R18)", arguments: [21, 30, 42])
    func audited(inserted: Int) async throws {
        let (bench, origin, shallow) = try await partlyHeld(inserted: inserted, .status(422))
        let before = try await bench.held.count
        #expect(try await sync(bench, shallow) { $0.work = .refresh }.headFailure == nil)
        #expect(shallow.failed.withLock(\.self) == 0)
        let held = try await bench.held
        #expect(held.count >= before + inserted)
        for (position, name) in held.enumerated() where name != nil { #expect(name == origin.names[position]) }
    }

    @Test(
        "A probe that the origin never answers makes no refresh fail for ever, and page one is shown (R18, R26)",
        arguments: [403, 422, 500])
    func neverAnswered(status: Int) async throws {
        let (bench, _, shallow) = try await partlyHeld(inserted: 150, .status(status))
        let before = try await bench.held
        func refresh() async throws -> SyncReport {
            try await sync(bench, shallow) { ($0.work, $0.retryWaitBudget) = (.refresh, .zero) }
        }
        if status == 500 {
            #expect(try await refresh().headFailure?.httpStatus == 500)
            #expect(try await bench.held == before, "the first failure may be a fault")
            clock.advance(by: .seconds(1_000))
        }
        let report = try await refresh()
        #expect(report.headFailure == nil)
        #expect(report.warnings.contains { $0.hasPrefix("check at position") }, "\(report.warnings)")
        #expect(try await bench.held == names(2_000..<2_020))
        let list = try #require(try await bench.list)
        #expect(list.failures == [] && list.pages.contains { $0.generation < list.record.version.generation })
    }

    @Test("A held item that an insert has moved behind a result window makes no refresh fail for ever (R18, R24)")
    func movedBehindWindow() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<103), access: .grid(size: 10))
        let shallow = ShallowOrigin(list: origin, end: 40, failure: .status(422))
        _ = try await sync(bench, shallow) { $0.maxPages = 4 }
        origin.names.insert("new", at: 0)
        clock.advance(by: .seconds(100))
        _ = try await sync(bench, shallow) { $0.work = .refresh }
        #expect(try await bench.held == Array(origin.names[..<41]))
        origin.names.append("last")
        for _ in 0..<2 {
            clock.advance(by: .seconds(100))
            let report = try await sync(bench, shallow) { _ in }
            #expect(report.headFailure == nil && report.outcome == .limited, "\(report.outcome)")
        }
        #expect(try await bench.held == Array(origin.names[..<40]))
    }
}

/// Fails for all positions from `end` on.
private final class ShallowOrigin: PageSource {
    let list: ListOrigin
    let end: Int
    let failure: FetchFailure
    /// The number of failed requests.
    let failed = Mutex(0)

    init(list: ListOrigin, end: Int, failure: FetchFailure) {
        (self.list, self.end, self.failure) = (list, end, failure)
    }

    var access: PagingAccess { list.access }
    var usage: SourceUsage { list.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard case .offset(let offset) = request.target, offset >= end else { return try await list.fetch(request) }
        failed.withLock { $0 += 1 }
        throw failure
    }
}
