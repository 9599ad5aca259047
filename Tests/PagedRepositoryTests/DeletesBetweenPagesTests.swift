import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Deletes at the origin between the loads of two pages of a chain, whose total shows them.
@Suite("Deletes between two pages of a chain (R22, R24)")
struct DeletesBetweenPagesTests {
    private let clock = ManualClock()

    @Test(
        "A list that is loaded page by page lacks no item after a delete, whether cursors are positions or keys",
        arguments: [true, false], [0, 5, 12])
    func deleted(countsPositions: Bool, position: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<45), access: .chain)
        origin.state.withLock { $0.countsPositions = countsPositions }
        let isDone = Mutex(false)
        // The delete is in the part that was loaded before.
        origin.before { number, names in
            if number == position / 10 + 2, !isDone.withLock({ $0 }) {
                names.remove(at: position)
                isDone.withLock { $0 = true }
            }
        }
        for _ in 0..<6 {
            _ = try await bench.sync(origin, clock) { $0.work = .next }
            clock.advance(by: .seconds(1))
        }
        #expect(origin.names.count == 44)
        #expect(try await bench.held == origin.names)
        #expect(origin.requests.count <= 9 + position / 10, "\(origin.requests.count)")
    }

    @Test("Totals that differ between any two answers cost a few requests in each load, and no walk of the list")
    func unsteady() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<95), access: .chain)
        let answers = Mutex(0)
        origin.state.withLock { state in
            state.total = { count in
                let number = answers.withLock {
                    $0 += 1
                    return $0
                }
                return .exact(count + 1_000 - number)
            }
        }
        for number in 1...10 {
            _ = try await bench.sync(origin, clock) { $0.work = .next }
            clock.advance(by: .seconds(1))
            #expect(try await bench.held.count >= min(10 * number, 95))
        }
        #expect(try await bench.held == origin.names)
        #expect(origin.requests.count <= 10 * 4, "\(origin.requests.count)")
    }
}
