import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// A program's own `PageSource` whose calls ignore their cancellation. They answer when the test releases them.
private struct DeafOrigin: PageSource {
    let deaf = DeafSource()
    var timeLimit: Duration?
    var access: PagingAccess { .offsets }
    var usage: SourceUsage { SourceUsage() }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        await deaf.wait()
        let codec = JSONItemCodec<Row>()
        let items = try Row.list(100..<110).map { RawItem(payload: try codec.encode($0), id: $0.id) }
        return .page(FetchedPage(content: PageContent(items), total: .exact(110)))
    }
}

@Suite("At the edge of an application: a custom source that ignores cancellation (X14)", .timeLimit(.minutes(20)))
struct EdgeDeafOriginTests {
    private let bench = BadInputBench()

    /// Checks that no lease of the list is left, that another repository loads the list, and that late answers of
    /// `origin` change nothing.
    private func expectLetGo(by origin: DeafOrigin) async throws {
        #expect(try await bench.outline?.ledger.contains { $0.state == .inFlight } != true)
        let other = bench.list(StagedOrigin())
        #expect(try await other.load() == .loaded(10))
        #expect(origin.deaf.callers > 0)
        origin.deaf.release()
        try await other.loadAll()
        for _ in 0..<1_000 { await Task.yield() }
        try await bench.expectServed(0..<48, other)
    }

    @Test("A call past the time limit of its source is abandoned, and the ledger records the timeout")
    func neverEnds() async throws {
        let origin = DeafOrigin(timeLimit: .milliseconds(5))
        let list = bench.list(origin)
        let failure = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(failure?.failure.failureClass == .timeout && list.current.failure == failure)
        #expect(try await bench.outline?.failures.first?.failure?.failureClass == .timeout)
        try await expectLetGo(by: origin)
    }

    @Test("A window past the time limit of its source is abandoned")
    func window() async throws {
        let origin = DeafOrigin(timeLimit: .milliseconds(5))
        let repository = bench.repository(origin)
        await #expect(throws: ListFailure.self) { try await repository.page(bench.key, offset: 0, limit: 10) }
        try await expectLetGo(by: origin)
    }

    @Test("The cancellation of the last caller ends the run, and releases its leases")
    func ignoresCancellation() async throws {
        let origin = DeafOrigin(timeLimit: nil)
        await AbandonableSource.$grace.withValue(.milliseconds(1)) {
            let list = bench.list(origin)
            let loading = Task { try await list.load() }
            while origin.deaf.callers == 0 { await Task.yield() }
            loading.cancel()
            await #expect(throws: CancellationError.self) { try await loading.value }
            while list.current.isLoading { await Task.yield() }
            #expect(list.current.failure == nil)
        }
        try await expectLetGo(by: origin)
    }

    @Test("A cancelled synchronisation returns, and releases its leases")
    func cancelledSync() async throws {
        let origin = DeafOrigin(timeLimit: nil)
        let sync = ListSync(storage: bench.storage, source: origin, key: bench.key, clock: bench.clock)
        try await AbandonableSource.$grace.withValue(.zero) {
            let running = Task { try await sync.run() }
            while origin.deaf.callers == 0 { await Task.yield() }
            running.cancel()
            let report = try await running.value
            #expect(report.wasCancelled)
        }
        try await expectLetGo(by: origin)
    }

    @Test("A call that is abandoned leaves its gate, and waiting at the gate does not count towards the time limit")
    func gate() async throws {
        let gate = OriginGate(concurrency: 1)
        let origin = DeafOrigin(timeLimit: .milliseconds(5))
        let lists = ["one", "two"].map { bench.repository(gate.limiting(origin)).list(QueryKey($0)) }
        await withTaskGroup(of: Void.self) { group in
            for list in lists {
                group.addTask {
                    let failure = await #expect(throws: ListFailure.self) { try await list.load() }
                    #expect(failure?.failure.failureClass == .timeout)
                }
            }
        }
        #expect(origin.deaf.callers == 2, "both calls passed the gate")
        #expect(try await bench.repository(gate.limiting(StagedOrigin())).list("three").load() == .loaded(10))
        origin.deaf.release()
    }

    @Test("A source without a time limit of its own has one of five minutes")
    func defaults() {
        #expect(StagedOrigin().timeLimit == .seconds(300))
        #expect(OriginGate().limiting(StagedOrigin()).timeLimit == .seconds(300))
    }
}
