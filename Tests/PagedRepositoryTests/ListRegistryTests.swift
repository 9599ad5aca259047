import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

@Suite("Registry of the lists that background work knows")
struct ListRegistryTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private let storage: CountingStorage
    private let noon = Timestamp(milliseconds: 1_800_000_000_000)
    private let pendingChanges = PendingChanges()

    init() { storage = CountingStorage(memory) }

    private func pinned(_ count: Int) async throws -> [QueryID] {
        var queries: [QueryID] = []
        for number in 0..<count {
            let query = try await memory.register(QueryKey("list\(number)"), at: noon).id
            try await memory.setPinned(true, query)
            queries.append(query)
        }
        return queries
    }

    private func wanted(
        _ registry: inout ListRegistry, observed: Set<QueryID> = [], running: Set<QueryID> = [], after seconds: Int = 0
    ) async throws -> [SyncScheduler.List] {
        try await registry.wanted(
            pendingChanges.take(), observed: observed, isRunning: { running.contains($0) }, in: storage,
            now: noon + .seconds(seconds))
    }

    private func changed(_ query: QueryID) -> StorageNotice {
        .changed(ChangeSet(query: query, version: nil, changes: [.validated]))
    }

    @Test("The registry reads every list once, and afterwards only the lists that a notice names")
    func reads() async throws {
        var registry = ListRegistry()
        let queries = try await pinned(20)
        #expect(try await wanted(&registry).map(\.query) == queries)
        #expect(storage.allReads == 20)
        _ = try await wanted(&registry)
        #expect(storage.allReads == 20)
        let version = try #require(registry.records[queries[3]]).version
        _ = try await memory.commit(
            CommitPlan(query: queries[3], version: version, edits: [.validated]), at: noon + .seconds(1))
        pendingChanges.record(changed(queries[3]))
        let lists = try await wanted(&registry)
        #expect(lists[3].validatedAt == noon + .seconds(1))
        #expect(lists.count { $0.validatedAt != nil } == 1)
        #expect(storage.allReads == 21)
        #expect(storage.reads(of: nil) == 1)
    }

    @Test("A list that is only being swept is read with the failure of the page at which its sweep stopped (R33)")
    func sweepFailure() async throws {
        var registry = ListRegistry()
        let record = try await memory.register(QueryKey("swept"), at: noon)
        let sweep = SweepProgress(position: 20, startedAt: noon)
        _ = try await memory.commit(
            CommitPlan(query: record.id, version: record.version, edits: [.setSweep(sweep)]), at: noon)
        _ = try await memory.record(
            [.failed(offset: 20, failure: .status(503), nextAttemptIn: .seconds(5))], for: record.id)
        let lists = try await wanted(&registry)
        #expect(lists.map(\.isSweeping) == [true])
        #expect(lists.first?.sweepFailure?.offset == 20)
    }

    @Test("Lists that are new, pinned, observed, unpinned or purged are recognized by the next call")
    func comeAndGo() async throws {
        var registry = ListRegistry()
        let queries = try await pinned(2)
        _ = try await wanted(&registry)
        let late = try await memory.register(QueryKey("late"), at: noon).id
        pendingChanges.record(changed(late))
        #expect(try await wanted(&registry).map(\.query) == queries)
        #expect(try await wanted(&registry, observed: [late]).map(\.query) == queries + [late])
        try await memory.setPinned(true, late)
        pendingChanges.record(changed(late))
        #expect(try await wanted(&registry).map(\.query) == queries + [late])
        try await memory.setPinned(false, queries[0])
        _ = try await memory.purge([queries[1]])
        pendingChanges.record(changed(queries[0]))
        pendingChanges.record(changed(queries[1]))
        #expect(try await wanted(&registry).map(\.query) == [late])
        #expect(registry.records[queries[1]] == nil)
    }

    @Test("A list with a running job is read again after the job ends")
    func running() async throws {
        var registry = ListRegistry()
        let query = try await pinned(1)[0]
        _ = try await wanted(&registry)
        let before = storage.reads(of: query)
        pendingChanges.record(changed(query))
        #expect(try await wanted(&registry, running: [query]).isEmpty)
        #expect(storage.reads(of: query) == before)
        #expect(try await wanted(&registry).count == 1)
        #expect(storage.reads(of: query) == before + 1)
    }

    @Test(
        "The registry notices lists purged by other processes, and reads all lists after a notice without names (R41)")
    func others() async throws {
        var registry = ListRegistry()
        let queries = try await pinned(3)
        _ = try await wanted(&registry)
        _ = try await memory.purge([queries[0]])
        pendingChanges.record(.invalidated([queries[1]]))
        #expect(try await wanted(&registry).map(\.query) == Array(queries[1...]))
        #expect(queries.map { storage.reads(of: $0) } == [1, 2, 1])
        pendingChanges.record(.invalidated([]))
        _ = try await wanted(&registry)
        #expect(queries.map { storage.reads(of: $0) } == [1, 3, 2])
        _ = try await wanted(&registry, after: 61)
        #expect(queries.map { storage.reads(of: $0) } == [1, 4, 3], "a notice may have been lost")
    }
}
