import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A storage that runs a closure right before certain calls. By default these are the commits.
private final class CrowdedStorage: RelayedStorage {
    let storage: any PageStorage
    private let isCrowded: @Sendable (StorageCall) -> Bool
    private let calls = Mutex(0)
    private let meanwhile: @Sendable (Int, any PageStorage) async throws(StorageError) -> Void

    /// - Parameter meanwhile: The closure, which receives the number of the call, starting at 1.
    init(
        _ storage: any PageStorage, before isCrowded: @escaping @Sendable (StorageCall) -> Bool = { $0 == .commit },
        _ meanwhile: @escaping @Sendable (Int, any PageStorage) async throws(StorageError) -> Void
    ) {
        self.storage = storage
        self.isCrowded = isCrowded
        self.meanwhile = meanwhile
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        if isCrowded(call) {
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            try await meanwhile(number, storage)
        }
        return try await body()
    }
}

/// An origin whose paging is known only after its first answer, or from the record of a list that was fetched before.
private final class LearningSource: PageSource {
    private let origin: ListOrigin
    private let isKnown = Mutex(false)
    private let beforeFirst: @Sendable () async -> Void

    /// - Parameter beforeFirst: runs before the answer to a request for page one.
    init(_ origin: ListOrigin, beforeFirst: @escaping @Sendable () async -> Void = {}) {
        self.origin = origin
        self.beforeFirst = beforeFirst
    }

    var access: PagingAccess { isKnown.withLock { $0 } ? origin.access : .single }
    var usage: SourceUsage { origin.usage }

    func restore(from list: QueryRecord) {
        if list.validatedAt != nil { isKnown.withLock { $0 = true } }
    }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        if request.target == .first { await beforeFirst() }
        let answer = try await origin.fetch(request)
        isKnown.withLock { $0 = true }
        return answer
    }
}

@Suite("Several processes load one list")
struct SharedLoadTests {
    private let clock = ManualClock()
    private let key = QueryKey("https://example.com/items")

    @Test("A run that uses page one of another run learns from its record how the other pages are requested (R30)")
    func learned() async throws {
        let origin = ListOrigin((0..<30).map { "i\($0)" })
        let (started, start) = AsyncStream<Void>.makeStream()
        let (opened, open) = AsyncStream<Void>.makeStream()
        // The answer to the first run arrives when the second run wants page one, too.
        let store = CrowdedStorage(MemoryStorage(clock: clock), before: { $0 == .claim }) {
            number, _ throws(StorageError) in
            if number == 2 { open.finish() }
        }
        _ = try await store.register(key)
        let first = LearningSource(origin) {
            start.finish()
            for await _ in opened {}
        }
        var onlyPageOne = SyncOptions()
        onlyPageOne.work = .refresh
        let (key, options) = (key, onlyPageOne)
        async let one = ListSync(storage: store, source: first, key: key, options: options).run()
        for await _ in started {}
        async let other = ListSync(storage: store, source: LearningSource(origin), key: key).run()
        _ = try await one
        #expect(try await other.outcome == .complete)
        #expect(origin.requests.count { $0.target == .first } == 1)
    }

    @Test(
        "A neighbour's page stored between a read and a commit causes no conflict and no second fetch (R21, R30)"
    )
    func neighbour() async throws {
        let origin = ListOrigin((0..<30).map { "i\($0)" })
        let store = MemoryStorage(clock: clock)
        let (clock, key) = (clock, key)
        let storage = CrowdedStorage(store) { number, store throws(StorageError) in
            // The second plan writes 10..<19, without the overlapping item before it. The neighbour's page overlaps the
            // last item of that range.
            guard number == 2, let record = try await store.query(key) else { return }
            let outcome = try await store.commit(
                CommitPlan(
                    query: record.id, version: record.version,
                    edits: [.insertPage(PageWrite(offset: 18, content: named(18..<28), evidence: .inferred))]))
            #expect(outcome == .committed(record.version))
        }
        let report = try await ListSync(storage: storage, source: origin, key: key, clock: clock, jitter: { 0.5 }).run()
        #expect(report.outcome == .complete)
        let record = try #require(try await store.query(key))
        #expect(record.version == ListVersion(generation: 1, revision: 0), "no item has moved")
        let window = try #require(try await store.window(of: record.id, 0..<30))
        #expect(window.parts.flatMap { $0.content.ids } == origin.names)
        let asked = origin.requests.map(\.target)
        #expect(Set(asked).count == asked.count, "\(asked)")
        #expect(asked.count == 4, "page one, and three pages that overlap by one item")
    }

    @Test("An answer for a position that another process moved meanwhile overwrites no item (R4)")
    func movedMeanwhile() async throws {
        let origin = ListOrigin((0..<30).map { "i\($0)" }, access: .chain)
        let store = MemoryStorage(clock: clock)
        let (clock, key) = (clock, key)
        let lost = Mutex<[String]>([])
        let hasMoved = Mutex(false)
        let source = MovingSource(origin) { number in
            guard number == 2, let record = try await store.query(key) else { return }
            // While the second page is under way, another process inserts a new item before the first item.
            origin.names.insert("new", at: 0)
            let new = PageWrite(offset: 0, content: named(["new"]), evidence: .inferred)
            let outcome = try await store.commit(
                CommitPlan(
                    query: record.id, version: record.version,
                    edits: [
                        .rearrange(Rearrangement([.written(new, from: [nil]), .kept(0..<Int.max)])),
                        .setTotal(.exact(31)),
                    ]))
            if case .committed = outcome { hasMoved.withLock { $0 = true } } else { Issue.record("\(outcome)") }
        }
        let storage = CrowdedStorage(store) { _, store throws(StorageError) in
            guard hasMoved.withLock({ $0 }), let record = try await store.query(key),
                let window = try await store.window(of: record.id, 0..<40)
            else { return }
            let there = Set(window.parts.filter(\.isHeld).flatMap { $0.content.ids })
            lost.withLock { $0 += ["new", "i0", "i9"].filter { !there.contains($0) } }
        }
        var options = SyncOptions()
        options.overlap = 0
        let report = try await ListSync(
            storage: storage, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
        #expect(report.outcome == .complete)
        #expect(lost.withLock { $0 } == [])
        let record = try #require(try await store.query(key))
        let window = try #require(try await store.window(of: record.id, 0..<40))
        #expect(window.parts.flatMap { $0.content.ids } == origin.names)
    }

    @Test("A run that has fetched every page is complete, although page one failed in another process meanwhile (R54)")
    func failedElsewhere() async throws {
        let origin = ListOrigin((0..<30).map { "i\($0)" })
        let store = MemoryStorage(clock: clock)
        let (clock, key) = (clock, key)
        let storage = CrowdedStorage(store) { number, store throws(StorageError) in
            // Page one is stored by the first commit.
            guard number == 3, let record = try await store.query(key) else { return }
            try await store.record(
                [.failed(offset: 0, failure: .status(503), nextAttemptIn: nil)], for: record.id)
        }
        let report = try await ListSync(
            storage: storage, source: origin, key: key, clock: clock, jitter: { 0.5 }
        ).run()
        let failures = try #require(try await store.state(of: key)).failures
        #expect(failures?.map(\.offset) == [0])
        #expect(report.outcome == .complete)
    }

    @Test(
        "A run completes the list when another process grows it to the total that this run is about to reject (R20)",
        arguments: [PagingAccess.offsets, .chain])
    func neighboursTotal(access: PagingAccess) async throws {
        var moments = 0
        while try await hasGrown(beforeCall: moments + 1, access) { moments += 1 }
        #expect(moments > 20, "\(moments)")
    }

    /// Runs against an origin that claims 35 items and returns 30. Before the given call the origin grows to 33 items
    /// with a correct total, and a neighbour sees this first. Returns false when the run ended before that call.
    private func hasGrown(beforeCall moment: Int, _ access: PagingAccess) async throws -> Bool {
        let (clock, key) = (clock, key)
        let origin = ListOrigin((0..<30).map { "i\($0)" }, access: access)
        origin.state.withLock { $0.total = { $0 == 33 ? .exact(33) : .exact(35) } }
        let store = MemoryStorage(clock: clock)
        let hasCome = Mutex(false)
        let storage = CrowdedStorage(store, before: { _ in true }) { number, store throws(StorageError) in
            guard number >= moment, !hasCome.withLock({ $0 }) else { return }
            hasCome.withLock { $0 = true }
            origin.names += (30..<33).map { "i\($0)" }
            // The neighbour's run may end at pages leased by the run under test. Its own report does not matter here.
            _ = try? await ListSync(storage: store, source: origin, key: key, clock: clock, jitter: { 0.5 }).run()
        }
        let report = try await ListSync(storage: storage, source: origin, key: key, clock: clock, jitter: { 0.5 }).run()
        guard hasCome.withLock({ $0 }) else { return false }
        #expect(report.outcome == .complete)
        let record = try #require(try await store.query(key))
        let window = try #require(try await store.window(of: record.id, 0..<40))
        let held = window.parts.filter(\.isHeld).flatMap { $0.content.ids }
        #expect(
            record.total == .exact(33) && held == origin.names,
            "before call \(moment): \(record.total), \(held.count) items")
        return true
    }
}

/// A source that runs a closure before each answer. The closure receives the number of the request, starting at 1.
private final class MovingSource: PageSource {
    private let origin: ListOrigin
    private let meanwhile: @Sendable (Int) async throws -> Void
    private let count = Mutex(0)

    init(_ origin: ListOrigin, _ meanwhile: @escaping @Sendable (Int) async throws -> Void) {
        self.origin = origin
        self.meanwhile = meanwhile
    }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let answer = try await origin.fetch(request)
        try await meanwhile(
            count.withLock {
                $0 += 1; return $0
            })
        return answer
    }
}
