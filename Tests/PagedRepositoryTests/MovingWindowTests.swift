import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Result windows of origins that refuse, with 422, each page that extends past their window (R24).
@Suite("Result windows that move (R24)")
struct MovingWindowTests {
    static let accesses: [PagingAccess] = [.offsets, .grid(size: 10)]

    @Test(
        "A list whose window moves with each insert and delete stays limited, if refused pages fail with 422",
        arguments: accesses)
    func moving(_ access: PagingAccess) async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<95), access: access), window: 40)
        origin.refusesWhole.withLock { $0 = true }
        origin.fails.withLock { $0 = true }
        func check(_ step: String) async throws {
            for _ in 0..<2 {
                let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
                #expect(report.outcome == .limited, "\(step)")
                // Items that an insert moves behind the window stay held.
                let held = try await bench.held
                #expect(held.count >= 40 && held == Array(origin.list.names.prefix(held.count)), "\(step)")
            }
        }
        try await check("first")
        origin.list.names.insert("head", at: 0)
        try await check("insert at the head")
        origin.list.names.removeLast()
        try await check("delete behind the window")
        origin.list.names.remove(at: 25)
        try await check("delete before the window")
        origin.list.names.insert("middle", at: 15)
        try await check("insert before the window")
    }
}
