import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// An origin without a total returns its last page for every later position, and its list loses whole pages (R24).
@Suite("The last page again")
struct LastPageAgainTests {
    enum Clamp: CaseIterable, Sendable {
        /// The last page that begins at a multiple of the page size.
        case lastPage
        /// The last items that fill a page.
        case lastItems
    }

    @Test(
        "A list that loses its last pages is complete and exact after the next sync",
        arguments: [PagingAccess.grid(size: 10), .offsets], [true, false])
    func losesPages(_ access: PagingAccess, saysMore: Bool) async throws {
        for clamp in Clamp.allCases where access == .offsets || clamp == .lastPage {
            for (before, after) in [(30, 20), (40, 20), (50, 30), (35, 25), (35, 20), (40, 25)] {
                let clock = ManualClock()
                let bench = try await SyncBench(clock)
                let origin = UnusualEndOrigin(names(0..<before), access: access) { state in
                    (state.size, state.saysMore) = (10, saysMore)
                    state.clamp = { count, size in
                        clamp == .lastPage ? (count - 1) / size * size : max(0, count - size)
                    }
                }
                #expect(try await bench.sync(origin, clock).outcome == .complete)
                origin.names.removeLast(before - after)
                let report = try await bench.sync(origin, clock)
                #expect(report.outcome == .complete, "\(clamp), \(before) to \(after): \(report.warnings)")
                #expect(try await bench.held == origin.names, "\(clamp), \(before) to \(after)")
                let requests = origin.requests
                #expect(try await bench.sync(origin, clock).outcome == .complete)
                #expect(origin.requests - requests <= 5)
            }
        }
    }

    @Test(
        "A list that loses all pages but one looks like an origin that ignores positions, and is unproven or exact",
        arguments: [PagingAccess.grid(size: 10), .offsets])
    func onePageLeft(_ access: PagingAccess) async throws {
        let clock = ManualClock()
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<60), access: access) { state in
            state.size = 10
            state.clamp = { count, size in (count - 1) / size * size }
        }
        #expect(try await bench.sync(origin, clock).outcome == .complete)
        origin.names.removeLast(50)
        for _ in 0..<3 {
            let isUnproven = try await bench.sync(origin, clock).outcome == .unproven
            let held = try await bench.held
            #expect(isUnproven || held == origin.names)
        }
    }

    @Test(
        "Inserts of whole pages behind page one are no last page again",
        arguments: [PagingAccess.grid(size: 10), .offsets], [10, 20, 13])
    func inserts(_ access: PagingAccess, _ count: Int) async throws {
        let clock = ManualClock()
        let bench = try await SyncBench(clock)
        let origin = UnusualEndOrigin(names(0..<50), access: access) { state in
            state.size = 10
            state.clamp = { count, size in (count - 1) / size * size }
        }
        for round in 0..<3 {
            let report = try await bench.sync(origin, clock)
            #expect(report.outcome == .complete, "\(report.warnings)")
            #expect(try await bench.held == origin.names)
            origin.names.insert(contentsOf: (0..<count).map { "new \(round) \($0)" }, at: 20)
        }
    }
}
