import Dispatch
import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// Runs jobs one after the other in the order of their arrival, so that a run sees answers together that arrive
/// together.
private final class InOrder: TaskExecutor {
    private let queue = DispatchQueue(label: "in order")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// An origin that holds requests until `few` are waiting, and then answers them all. Page one and the last requests are
/// answered at once. Calls stay on the executor of the run.
private final class GatheringOrigin: PageSource, PromptSource {
    private let origin: ListOrigin
    private let few: Int
    private let waiting = Mutex<(asked: Int, waiting: [CheckedContinuation<Void, Never>])>((0, []))
    private let requests: Int

    init(_ origin: ListOrigin, few: Int, of requests: Int) {
        self.origin = origin
        self.few = few
        self.requests = requests
    }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        if request.target != .first {
            await withCheckedContinuation { continuation in
                let ready = waiting.withLock { state in
                    state.asked += 1
                    state.waiting.append(continuation)
                    guard state.waiting.count == few || state.asked >= requests else {
                        return [CheckedContinuation<Void, Never>]()
                    }
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for one in ready { one.resume() }
            }
        }
        return try await origin.fetch(request)
    }
}

/// An origin that records the largest number of requests in flight.
private final class BusyOrigin: PageSource, PromptSource {
    private let origin: ListOrigin
    private let crowd = Mutex<(now: Int, most: Int)>((0, 0))

    init(_ origin: ListOrigin) { self.origin = origin }

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }
    var most: Int { crowd.withLock { $0.most } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        crowd.withLock { crowd in
            crowd.now += 1
            crowd.most = max(crowd.most, crowd.now)
        }
        defer { crowd.withLock { $0.now -= 1 } }
        // The yields let other requests arrive.
        for _ in 0..<20 { await Task.yield() }
        return try await origin.fetch(request)
    }
}

/// A storage that records its calls and commit plans.
private final class NotedStorage: RelayedStorage {
    let storage: any PageStorage
    private let made = Mutex<[StorageCall]>([])
    private let plans = Mutex<[CommitPlan]>([])
    private let before: @Sendable (CommitPlan, any PageStorage) async throws(StorageError) -> Void

    init(
        _ storage: any PageStorage,
        before: @escaping @Sendable (CommitPlan, any PageStorage) async throws(StorageError) -> Void = { _, _ in }
    ) {
        self.storage = storage
        self.before = before
    }

    var calls: [StorageCall] { made.withLock { $0 } }
    /// The number of pages that each commit stored.
    var pagesStored: [Int] {
        plans.withLock { plans in plans.map { $0.edits.count { if case .insertPage = $0 { true } else { false } } } }
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        made.withLock { $0.append(call) }
        return try await body()
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        made.withLock { $0.append(.commit) }
        plans.withLock { $0.append(plan) }
        try await before(plan, storage)
        return try await storage.commit(plan, claiming: request)
    }
}

@Suite("Transactions of a first load")
struct StoredTogetherTests {
    private let clock = ManualClock()
    private let key = QueryKey("https://example.com/items")

    private func load(
        _ origin: any PageSource, into storage: any PageStorage, concurrency: Int
    ) async throws -> (report: SyncReport, held: [String?]) {
        var options = SyncOptions()
        options.concurrency = concurrency
        let (clock, key) = (clock, key)
        let report = try await withTaskExecutorPreference(InOrder()) {
            try await ListSync(
                storage: storage, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
        }
        guard let record = try await storage.query(key), let window = try await storage.window(of: record.id, 0..<1_000)
        else {
            return (report, [])
        }
        return (report, window.parts.flatMap { $0.content.ids })
    }

    @Test(
        "A page costs one transaction, whose commit also takes the lease of the next page and returns its outline"
    )
    func oneEach() async throws {
        let origin = ListOrigin((0..<838).map { "i\($0)" }, size: 28)
        let storage = NotedStorage(MemoryStorage(clock: clock))
        let (report, held) = try await load(origin, into: storage, concurrency: 1)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
        #expect(origin.requests.count == 31)
        // Page one and the last page take further transactions.
        let calls = storage.calls
        let first = try #require(calls.lastIndex(of: .claim))
        #expect(calls[first...].dropFirst().prefix(29).allSatisfy { $0 == .commit }, "\(calls)")
    }

    @Test(
        "The next page is requested while a page is stored, within the concurrency of the run",
        .timeLimit(.minutes(20)), arguments: [1, 4])
    func whileStored(concurrency: Int) async throws {
        let origin = ListOrigin((0..<838).map { "i\($0)" }, size: 28)
        let slow = Mutex(0)
        let inTime = Mutex(0)
        // The storage delays each commit until the next page was requested. The second of 31 pages is 28..<55, and each
        // later page begins 27 items further on. The first pages have no lease in advance, and no page follows the last
        // one.
        let storage = NotedStorage(MemoryStorage(clock: clock)) { plan, _ in
            let stored =
                plan.edits.compactMap { if case .insertPage(let page) = $0 { (page.offset - 1) / 27 } else { nil } }
                .max() ?? 0
            guard (concurrency + 1..<30).contains(stored) else { return }
            slow.withLock { $0 += 1 }
            for _ in 0..<10_000 where origin.requests.count < stored + 2 { await Task.yield() }
            if origin.requests.count >= stored + 2 { inTime.withLock { $0 += 1 } }
        }
        let crowded = BusyOrigin(origin)
        let (report, held) = try await load(crowded, into: storage, concurrency: concurrency)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
        #expect(slow.withLock { $0 } >= 7)
        #expect(inTime.withLock { $0 } == slow.withLock { $0 })
        #expect(origin.requests.count == 31)
        #expect(crowded.most == concurrency)
        let record = try #require(try await storage.query(key))
        let list = try #require(try await storage.outline(of: record.id))
        #expect(list.ledger.allSatisfy { $0.state == .ok && $0.attempts <= 1 }, "no lease is left behind")
    }

    @Test("Pages that arrive together are stored together, in order of position (R1)", .timeLimit(.minutes(20)))
    func together() async throws {
        let origin = ListOrigin((0..<352).map { "i\($0)" }, size: 28)
        let storage = NotedStorage(MemoryStorage(clock: clock))
        let (report, held) = try await load(GatheringOrigin(origin, few: 4, of: 12), into: storage, concurrency: 4)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
        #expect(origin.requests.count == 13)
        #expect(storage.pagesStored.filter { $0 == 4 }.count >= 2, "\(storage.pagesStored)")
        let record = try #require(try await storage.query(key))
        let list = try #require(try await storage.outline(of: record.id))
        #expect(list.inferredSeams == 0)
        #expect(list.ledger.allSatisfy { $0.state == .ok }, "no lease is left behind")
    }

    @Test(
        "A failure among pages that arrived together does not affect the others, and their successors are requested",
        .timeLimit(.minutes(20)))
    func failureAmongThem() async throws {
        let origin = ListOrigin((0..<838).map { "i\($0)" }, size: 28)
        let failed = Mutex(false)
        origin.before { number, _ in
            guard number == 4, !failed.withLock({ $0 }) else { return }
            failed.withLock { $0 = true }
            throw FetchFailure.status(503)
        }
        let storage = NotedStorage(MemoryStorage(clock: clock))
        // The pages before the failed one share a transaction, and the page after it has another. Each transaction
        // makes room for further requests.
        let gathering = GatheringOrigin(origin, few: 4, of: 4)
        let (report, held) = try await load(gathering, into: storage, concurrency: 4)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
        #expect(storage.pagesStored.contains(2), "\(storage.pagesStored)")
        #expect(origin.requests.count == 32, "each page once, and one page twice")
    }

    @Test(
        "A Retry-After of one page also delays the successors of the other pages (R28)",
        .timeLimit(.minutes(20)))
    func pauseAmongThem() async throws {
        let origin = ListOrigin((0..<838).map { "i\($0)" }, size: 28)
        let start = clock.now()
        let clock = clock
        let times = Mutex<[Timestamp]>([])
        origin.before { number, _ in
            times.withLock { $0.append(clock.now()) }
            if number == 4 { throw FetchFailure.status(429, retryAfter: .seconds(7)) }
        }
        let storage = NotedStorage(MemoryStorage(clock: clock))
        let (report, held) = try await load(GatheringOrigin(origin, few: 4, of: 4), into: storage, concurrency: 4)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
        let early = times.withLock { $0.filter { $0 < start + .seconds(7) }.count }
        #expect(early == 5, "page one, and the four pages requested before")
        #expect(origin.requests.count == 32)
        let record = try #require(try await storage.query(key))
        let ledger = try #require(try await storage.outline(of: record.id)).ledger
        #expect(ledger.allSatisfy { $0.state == .ok })
        #expect(ledger.count { $0.attempts > 1 } == 1, "a returned lease is not an attempt")
    }

    @Test(
        "A page is compared again when a neighbour replaced the page that it was compared with (R21)",
        .timeLimit(.minutes(20)))
    func replacedMeanwhile() async throws {
        let origin = ListOrigin((0..<352).map { "i\($0)" }, size: 28)
        let (clock, neighbour) = (clock, Neighbour())
        let storage = NotedStorage(MemoryStorage(clock: clock)) { plan, store throws(StorageError) in
            guard neighbour.comes(before: plan) else { return }
            // At the origin, another item has replaced the item that the next page was compared with.
            let names = (0..<9).map { "i\($0)" } + ["other"]
            origin.names.replaceSubrange(0..<10, with: names)
            let page = PageWrite(offset: 0, content: named(names), evidence: .verified)
            _ = try await store.commit(
                CommitPlan(
                    query: plan.query, version: plan.version,
                    edits: [.rearrange(.replacing(0..<10, with: page)), .validated]))
        }
        let (report, held) = try await load(GatheringOrigin(origin, few: 4, of: 12), into: storage, concurrency: 4)
        #expect(neighbour.hasCome)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
    }

    @Test(
        "A neighbour that stores one of the pages meanwhile costs a second look and no request (R4, R21)",
        .timeLimit(.minutes(20)))
    func neighbour() async throws {
        let origin = ListOrigin((0..<352).map { "i\($0)" }, size: 28)
        let (clock, neighbour) = (clock, Neighbour())
        let storage = NotedStorage(MemoryStorage(clock: clock)) { plan, store throws(StorageError) in
            guard neighbour.comes(before: plan) else { return }
            // The second of the four pages, as another process stores it.
            let page = PageWrite(offset: 19, content: named(19..<28), evidence: .inferred)
            _ = try await store.commit(CommitPlan(query: plan.query, version: plan.version, edits: [.insertPage(page)]))
        }
        let (report, held) = try await load(GatheringOrigin(origin, few: 4, of: 12), into: storage, concurrency: 4)
        #expect(neighbour.hasCome)
        #expect(report.outcome == .complete)
        #expect(held == origin.names)
        #expect(origin.requests.count == 13)
    }
}

/// Another process that acts once, before the first plan that stores four pages together.
private final class Neighbour: Sendable {
    private let came = Mutex(false)

    var hasCome: Bool { came.withLock { $0 } }

    func comes(before plan: CommitPlan) -> Bool {
        guard plan.edits.count(where: { if case .insertPage = $0 { true } else { false } }) == 4 else { return false }
        return came.withLock { came in
            defer { came = true }
            return !came
        }
    }
}
