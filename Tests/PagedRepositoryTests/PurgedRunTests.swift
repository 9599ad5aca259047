import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A storage that purges every list once, right before a given commit.
private final class PurgingStorage: RelayedStorage {
    let storage: any PageStorage
    private let commits = Mutex(0)
    private let victim: Int

    init(_ storage: any PageStorage, before victim: Int) {
        self.storage = storage
        self.victim = victim
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        if call == .commit,
            commits.withLock({
                $0 += 1; return $0
            }) == victim
        {
            _ = try await storage.purge(try await storage.records().map(\.id))
        }
        return try await body()
    }
}

@Suite("A list that is purged during a run")
struct PurgedRunTests {
    private func options(_ work: SyncOptions.Work = .everything) -> SyncOptions {
        var options = SyncOptions()
        options.pageSize = 10
        options.concurrency = 1
        options.work = work
        options.registersFirst = false
        return options
    }

    @Test("The run ends with the outcome purged and without a failure of the origin", arguments: 2..<8)
    func purged(before commit: Int) async throws {
        let clock = ManualClock()
        let storage = PurgingStorage(MemoryStorage(clock: clock), before: commit)
        let origin = ListOrigin((0..<100).map { "i\($0)" })
        let sync = ListSync(storage: storage, source: origin, key: QueryKey("list"), options: options(), clock: clock)
        let report = try await sync.run()
        #expect(report.outcome == .purged)
        #expect(report.list == nil)
        #expect(report.headFailure == nil)
        // The next run registers the list again.
        let again = try await sync.run()
        #expect(again.outcome == .complete)
        #expect(again.list?.coverage.count == 100)
    }

    @Test("A run whose page one replaces a list that is purged meanwhile ends as purged, and not as busy")
    func replaced() async throws {
        let clock = ManualClock()
        let memory = MemoryStorage(clock: clock)
        let origin = ListOrigin((0..<30).map { "i\($0)" })
        let key = QueryKey("list")
        let first = ListSync(storage: memory, source: origin, key: key, options: options(), clock: clock)
        #expect(try await first.run().outcome == .complete)
        // A page one with repeated ids is not aligned: it replaces the list (R25).
        origin.names = ["x", "x"] + (0..<28).map { "j\($0)" }
        let storage = PurgingStorage(memory, before: 1)
        let second = ListSync(storage: storage, source: origin, key: key, options: options(.refresh), clock: clock)
        let report = try await second.run()
        #expect(report.outcome == .purged && report.headFailure == nil)
    }

    @Test("A window of a list that is purged meanwhile fails as purged")
    func page() async throws {
        let clock = ManualClock()
        let storage = PurgingStorage(MemoryStorage(clock: clock), before: 2)
        let origin = ListOrigin((0..<100).map { "i\($0)" })
        let repository = ListRepository(storage: storage, codec: RawItemCodec(), clock: clock, source: { _ in origin })
        let failure = await #expect(throws: ListFailure.self) {
            try await repository.page(QueryKey("list"), offset: 50, limit: 10)
        }
        #expect(failure?.failure.failureClass == .purged && failure?.failure.isRetryable == true)
    }
}

@Suite("A run over a damaged storage")
struct DamagedRunTests {
    /// A storage that reports damage as often as the test says.
    private final class DamagedStorage: RelayedStorage {
        let storage: any PageStorage
        let found: Mutex<[StorageDamage]>

        init(_ storage: any PageStorage, finding damage: [StorageDamage]) {
            self.storage = storage
            found = Mutex(damage)
        }

        func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
            found.withLock { $0.isEmpty ? StorageDamage() : $0.removeFirst() }
        }
    }

    private func run(_ storage: any PageStorage, _ origin: ListOrigin) async throws -> SyncReport {
        var options = SyncOptions()
        options.pageSize = 10
        options.overlap = 0
        options.checksStoredBytes = true
        return try await ListSync(
            storage: storage, source: origin, key: QueryKey("list"), options: options, clock: storage.manualClock
        ).run()
    }

    @Test("Damaged pages are fetched again, and the run is complete once no damage is left")
    func refetched() async throws {
        let memory = MemoryStorage(clock: ManualClock())
        let origin = ListOrigin((0..<50).map { "i\($0)" })
        #expect(try await run(memory, origin).outcome == .complete)
        let before = origin.requests.count
        let report = try await run(DamagedStorage(memory, finding: [StorageDamage(pages: [20..<30])]), origin)
        #expect(report.outcome == .complete)
        #expect(report.warnings == ["10 items are damaged in the store"])
        #expect(report.list?.coverage.count == 50)
        // Page one and the damaged page.
        #expect(origin.requests.count == before + 2)
    }

    @Test("Damage that a fetch cannot repair is the outcome, even of a complete list")
    func structural() async throws {
        let origin = ListOrigin((0..<50).map { "i\($0)" })
        // The storage of a new list is checked only after the load.
        let report = try await run(
            DamagedStorage(MemoryStorage(clock: ManualClock()), finding: [StorageDamage(isStructural: true)]), origin)
        #expect(report.outcome == .damaged)
        #expect(report.list?.isComplete == true)
    }
}
