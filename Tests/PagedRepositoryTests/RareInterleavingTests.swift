import Foundation
import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A source whose answers the test computes, and which counts its requests.
final class ComputedSource: PageSource {
    let access: PagingAccess
    let largestOverlap: Int? = 0
    private let count = Mutex(0)
    private let answer: @Sendable (PageRequest, Int) async throws -> PageAnswer

    init(_ access: PagingAccess, _ answer: @escaping @Sendable (PageRequest, Int) async throws -> PageAnswer) {
        self.access = access
        self.answer = answer
    }

    var usage: SourceUsage { SourceUsage(requests: count.withLock { $0 }) }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return try await answer(request, number)
    }
}

/// A source that refuses every list as another user's.
private final class RefusingSource: PageSource {
    let access = PagingAccess.offsets
    let usage = SourceUsage()
    private let count = Mutex(0)
    private let fetches = Mutex(0)
    var asked: Int { count.withLock { $0 } }
    var fetched: Int { fetches.withLock { $0 } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        fetches.withLock { $0 += 1 }
        return .pastEnd
    }
    func authorize(_ list: QueryRecord) throws(FetchFailure) {
        count.withLock { $0 += 1 }
        throw FetchFailure(.forbidden, "another's", isRetryable: false)
    }
}

@Suite("Rare interleavings", .timeLimit(.minutes(20)))
struct RareInterleavingTests {
    private let bench = BadInputBench()

    private func sync(_ source: any PageSource, _ change: (inout SyncOptions) -> Void = { _ in }) async throws
        -> SyncReport
    {
        var options = SyncOptions()
        change(&options)
        return try await ListSync(
            storage: bench.storage, source: source, key: bench.key, options: options, clock: bench.clock,
            jitter: { 0.5 }
        ).run()
    }

    private func held() async throws -> Int { try await bench.outline?.coverage.count ?? 0 }

    @Test("A chain with repeated ids and no total keeps its last page when it is read again (R14, R25)")
    func repeatedTail() async throws {
        let origin = ListOrigin(["a", "b", "a"] + (0..<20).map { "i\($0)" }, access: .chain)
        origin.state.withLock { $0.total = nil }
        for run in 1...4 {
            _ = try await sync(origin)
            #expect(try await held() == 23, "run \(run)")
            #expect(try await bench.outline?.record.end == 23, "run \(run)")
            bench.clock.advance(by: .seconds(61))
        }
    }

    @Test("A list that is purged during a sweep is not fetched without end")
    func purgedWhileSwept() async throws {
        let names = (0..<48).map { "i\($0)" }
        let origin = ListOrigin(names)
        _ = try await sync(origin)
        let before = origin.requests.count
        let source = ComputedSource(.offsets) { [bench] request, number in
            if number == 2, let record = try await bench.storage.query(bench.key) {
                _ = try await bench.storage.purge([record.id])
            }
            if number > 200 { throw FetchFailure(.rejected, "stop", isRetryable: false) }
            return try await origin.fetch(request)
        }
        _ = try await sync(source) { $0.work = .sweep }
        #expect(origin.requests.count - before < 30)
    }

    @Test(
        "Background work backs off from an origin that changes page one and then fails all further requests (R28)",
        arguments: [503, 403])
    func failingQuestions(status: Int) async throws {
        try await bench.pin()
        let isBad = Mutex(false)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let isBad = isBad.withLock { $0 }
            if isBad, offset > 0 { throw FetchFailure.status(status) }
            let count = isBad ? 47 : 48
            return ItemPage(items: Row.list(min(offset, count)..<min(offset + size, count)), total: count)
        }
        try await bench.engine(source).run { try await bench.outline?.isComplete == true }
        isBad.withLock { $0 = true }
        let (began, asked) = (bench.clock.now(), source.usage.requests)
        try await bench.engine(source).run {
            source.usage.requests - asked > 300 || bench.clock.now() - began > .seconds(3_600)
        }
        #expect(source.usage.requests - asked <= 300)
    }

    @Test("A refresh fails when the requests that would locate a change fail (R37)")
    func failingQuestionsAreTold() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.loadAll()
        origin.rows.remove(at: 30)
        origin.fail(nil, .status(503), .status(503), .status(503), .status(503))
        await #expect(throws: ListFailure.self) { try await list.refresh() }
    }

    @Test("Background work sends no request for another user's list, and checks its owner 100 times at most (R45)")
    func foreign() async throws {
        try await bench.pin()
        let source = RefusingSource()
        let began = bench.clock.now()
        try await bench.engine(source).run { source.asked > 100 || bench.clock.now() - began > .seconds(600) }
        #expect((1...100).contains(source.asked) && source.fetched == 0)
    }

    @Test("A page one that arrives after a reset is dropped (X3)", arguments: [true, false])
    func lateHead(isLoaded: Bool) async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        if isLoaded { try await list.load() }
        origin.ignoreCancellation()
        origin.hold()
        let refresh = Task { try await list.refresh() }
        await origin.reached(isLoaded ? 2 : 1)
        try await list.reset()
        origin.release()
        #expect(try await refresh.value == .superseded)
        for _ in 0..<2_000 { await Task.yield() }
        #expect(list.current.items.isEmpty && !list.current.isLoaded)
        #expect(try await bench.storage.query(bench.key) == nil)
    }

    @Test("A run with several empty positions at once does not wait for its own request for page one (R20, R30)")
    func twoWitnesses() async throws {
        let names = (0..<60).map { "i\($0)" }
        let origin = ListOrigin(names, access: .grid(size: 10))
        origin.state.withLock { $0.total = nil }
        _ = try await sync(origin)
        let list = try #require(try await bench.outline)
        _ = try await bench.storage.commit(
            CommitPlan(query: list.record.id, version: list.record.version, edits: [.markStale(10..<40)]))
        let began = bench.clock.now()
        let empties = Mutex(0)
        let source = ComputedSource(.grid(size: 10)) { request, number in
            if case .offset(let offset) = request.target, (10..<40).contains(offset), number < 40 {
                // The yields let all requests start before the first of them is answered.
                for _ in 0..<200 { await Task.yield() }
                empties.withLock { $0 += 1 }
                return .page(FetchedPage(content: PageContent()))
            }
            if request.target == .first { for _ in 0..<2_000 { await Task.yield() } }
            return try await origin.fetch(request)
        }
        _ = try await sync(source)
        #expect(empties.withLock { $0 } <= 12)
        #expect(bench.clock.now() - began < .seconds(5))
        #expect(try await bench.outline?.ledger.allSatisfy { $0.state != .inFlight } == true)
    }

    @Test("An unconfirmed end is requested four times at most while another process fetches page one (R20, R30)")
    func witnessElsewhere() async throws {
        let origin = ListOrigin((0..<20).map { "i\($0)" }, access: .chain)
        origin.state.withLock { $0.total = nil }
        let asked = Mutex(0)
        let source = ComputedSource(.chain) { [bench] request, _ in
            if case .cursor(let cursor) = request.target, cursor.text == "end" {
                asked.withLock { $0 += 1 }
                if let record = try await bench.storage.query(bench.key), asked.withLock({ $0 }) == 1 {
                    // Another process has just begun a refresh that takes half a minute.
                    let now = bench.clock.now()
                    _ = try await bench.storage.claim([0], of: record.id, until: now + .seconds(30), at: now)
                }
                return .page(FetchedPage(content: PageContent()))
            }
            guard case .page(var page) = try await origin.fetch(request) else { return .pastEnd }
            if page.next == nil { page.next = PageCursor("end") }
            return .page(page)
        }
        _ = try await sync(source)
        #expect(asked.withLock { $0 } <= 4)
    }
}
