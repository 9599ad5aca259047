import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// The origin's list becomes empty while the list is loaded, and later has its items again (R20).
@Suite("Lists that become empty during a load")
struct EmptiedDuringLoadTests {
    @Test(
        "The list is empty once page one has said so twice, a minute apart, and has all items once the origin returns them",
        arguments: [PagingAccess.offsets, .grid(size: 10)], [true, false])
    func emptied(_ access: PagingAccess, hasTotal: Bool) async throws {
        for request in 1..<8 {
            let clock = ManualClock()
            let bench = try await SyncBench(clock)
            let origin = UnusualEndOrigin(names(0..<40), access: access) { state in
                state.size = 10
                if hasTotal { state.total = { names, _ in .exact(names.count) } }
                state.changes = [request: { $0 = [] }]
            }
            func sync(_ work: SyncOptions.Work = .everything) async throws -> SyncReport {
                var options = SyncOptions()
                (options.work, options.retryWaitBudget, options.reportsActions) = (work, .zero, true)
                let sync = ListSync(
                    storage: bench.store, source: origin, key: bench.key, options: options, clock: clock,
                    jitter: { 0.5 })
                return try await sync.run()
            }
            _ = try await sync(.refresh)
            for _ in 0..<4 {
                _ = try await sync()
                let held = try await bench.held
                // Answers arrive in any order, so a page in the middle can be missing.
                let isInPlace =
                    zip(held, names(0..<40)).allSatisfy { $0 == nil || $0 == $1 } && held.first != .some(nil)
                #expect(isInPlace, "emptied at \(request): \(held)")
                clock.advance(by: .seconds(100))
            }
            #expect(try await sync().outcome == .complete, "emptied at \(request)")
            #expect(try await bench.held.isEmpty, "emptied at \(request)")
            origin.names = names(0..<40)
            #expect(try await sync().outcome == .complete, "emptied at \(request)")
            #expect(try await bench.held == names(0..<40), "emptied at \(request)")
        }
    }
}
