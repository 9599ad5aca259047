import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

@Suite("Search depth in the ledger")
struct DueSelectorTests {
    @Test("Pages that cannot be fetched now do not hide others: the search widens its limit up to a bound")
    func bound() {
        var search = DueSelector(lists: 4)
        var limits = [search.limit]
        while search.goesOn(found: search.limit, ready: 3) { limits.append(search.limit) }
        #expect(limits == [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576])
    }

    @Test("The search ends with enough ready lists or at the end of the ledger")
    func end() {
        var search = DueSelector(lists: 4)
        let ends = [
            search.goesOn(found: 256, ready: 4), search.goesOn(found: 255, ready: 0), search.goesOn(found: 0, ready: 0),
        ]
        #expect(ends == [false, false, false])
        #expect(search.limit == 256)
        var least = DueSelector(lists: 0)
        let (none, one) = (least.goesOn(found: 256, ready: 0), least.goesOn(found: 1_024, ready: 1))
        #expect(none)
        #expect(!one, "the search always has room for one list")
    }

    @Test("The search finds the one ready list after a thousand pages that cannot be fetched now")
    func hidden() async throws {
        let noon = Timestamp(milliseconds: 1_800_000_000_000)
        let storage = MemoryStorage(clock: ManualClock())
        let stuck = try await storage.register("stuck", at: noon).id,
            ready = try await storage.register("ready", at: noon).id
        let failure = FetchFailure(.server, "m", isRetryable: true)
        let early = (0..<1_000).map { LedgerEdit.failed(offset: $0, failure: failure, nextAttemptIn: .zero) }
        try await storage.record(early, for: stuck, at: noon)
        try await storage.record(
            [.failed(offset: 0, failure: failure, nextAttemptIn: .seconds(1))], for: ready, at: noon)
        let few = try await storage.due(within: .seconds(9), lists: 1) { $0 == stuck }.fetches
        #expect(few.count == 256)
        let all = try await storage.due(within: .seconds(9), lists: 1) { $0 == ready }.fetches
        #expect(all.count == 1_001)
        #expect(all.last?.query == ready)
    }
}
