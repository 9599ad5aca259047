import Metrics
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

/// Metrics and the moments at which they count. Each test has its own metrics back end, so other tests do not count.
@Suite("Metrics of the cache")
struct MetersTests {
    private let storage = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { storage.manualClock }
    private let metrics = RecordingMetrics()
    private let key = QueryKey("rows")

    private func sync(_ origin: StagedOrigin) -> ListSync {
        var options = SyncOptions()
        options.overlap = 0
        options.concurrency = 1
        return ListSync(storage: storage, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 })
    }

    private func bytes(_ numbers: Range<Int>) throws -> Int64 {
        let codec = JSONItemCodec<Row>()
        return try numbers.reduce(0) { $0 + Int64(try codec.encode(StagedOrigin.row($1)).count) }
    }

    @Test("Every documented series exists before its first count, and no undocumented series exists")
    func series() {
        withMetricsFactory(metrics) { _ = (Meters.Reads(), Meters.Run(), Meters.Engine(), Meters.Storage()) }
        var counters: Set<RecordingMetrics.Series> = []
        var timers: Set<RecordingMetrics.Series> = []
        var gauges: Set<RecordingMetrics.Series> = []
        for metric in Metric.allCases {
            for value in metric.dimension?.values ?? [""] {
                let series = RecordingMetrics.Series(
                    label: metric.rawValue, dimension: metric.dimension?.name ?? "", value: value)
                switch metric.kind {
                case .counter: counters.insert(series)
                case .timer: timers.insert(series)
                case .gauge: gauges.insert(series)
                }
            }
        }
        #expect(metrics.counters == counters)
        #expect(metrics.timers == timers)
        #expect(metrics.gauges == gauges)
        for metric in Metric.allCases {
            #expect(metrics.count(metric.rawValue) == 0 && metrics.timings(metric.rawValue).isEmpty)
        }
    }

    @Test("A read counts by what the cache held when it was called, whatever is fetched later (R11, R12, R15)")
    func reads() async throws {
        var options = PagedListOptions()
        options.sync.overlap = 0
        options.freshness = FreshnessPolicy(expiredAfter: .seconds(3_600))
        try await withMetricsFactory(metrics) {
            let repository = ListRepository(
                storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, jitter: { 0.5 },
                source: { _ in StagedOrigin() })
            let list = repository.list(key)
            try await list.load(.cacheOnly)
            _ = try await repository.page(key, offset: 0, limit: 10, policy: .cacheOnly)
            try await list.load()
            #expect(metrics.counts("pagecache_reads_total") == ["none": 3])
            try await list.load(.refreshIfStale)
            _ = try await repository.page(key, offset: 0, limit: 10)
            _ = try await repository.page(key, offset: 5, limit: 10, policy: .cacheOnly)
            _ = try await repository.page(key, offset: 30, limit: 10, policy: .cacheOnly)
            #expect(metrics.counts("pagecache_reads_total") == ["none": 4, "fresh": 2, "partial": 1])
            clock.advance(by: .seconds(61))
            try await list.load(.cacheOnly)
            clock.advance(by: .seconds(3_600))
            _ = try await repository.page(key, offset: 0, limit: 10, policy: .cacheOnly)
        }
        #expect(
            metrics.counts("pagecache_reads_total") == ["none": 4, "fresh": 2, "partial": 1, "stale": 1, "expired": 1])
        #expect(metrics.count("pagecache_requests_total") == 1)
    }

    @Test("A window after the known end counts as completely held")
    func behindTheEnd() async throws {
        try await withMetricsFactory(metrics) {
            let repository = ListRepository(
                storage: storage, codec: JSONItemCodec<Row>(), clock: clock, jitter: { 0.5 },
                source: { _ in StagedOrigin(8) })
            try await repository.list(key).load()
            _ = try await repository.page(key, offset: 20, limit: 10, policy: .cacheOnly)
        }
        #expect(metrics.counts("pagecache_reads_total") == ["none": 1, "fresh": 1])
    }

    @Test("Requests count by outcome, and a page that failed in this or an earlier run counts as a retry (R26, R28)")
    func requests() async throws {
        let origin = StagedOrigin(20)
        origin.fail(.status(503), nil, .status(400))
        var report = try await withMetricsFactory(metrics) { try await sync(origin).run() }
        #expect(report.outcome == .incomplete)
        #expect(metrics.counts("pagecache_requests_total") == ["server": 1, "page": 1, "rejected": 1])
        #expect(metrics.count("pagecache_retries_total") == 1)
        #expect(metrics.counts("pagecache_ledger_failures_total") == ["scheduled": 1, "none": 1])
        #expect(metrics.count("pagecache_pages_committed_total") == 1)
        report = try await withMetricsFactory(metrics) { try await sync(origin).run() }
        #expect(report.outcome == .complete)
        #expect(metrics.counts("pagecache_requests_total") == ["server": 1, "page": 3, "rejected": 1])
        #expect(metrics.count("pagecache_retries_total") == 2)
        #expect(metrics.counts("pagecache_ledger_failures_total") == ["scheduled": 1, "none": 1])
        let received = try bytes(0..<10) + bytes(0..<20)
        #expect(metrics.count("pagecache_payload_received_bytes_total") == received)
        let fetches = metrics.timings("pagecache_fetch_duration_seconds")
        #expect(fetches.mapValues(\.count) == ["answered": 3, "failed": 2])
        #expect(fetches.values.joined().allSatisfy { $0 >= 0 })
        #expect((metrics.timings("pagecache_commit_duration_seconds")["committed"] ?? []).count >= 3)
    }

    @Test("Every outcome has its series, unknown failure classes are \"other\", and cancelled fetches are not timed")
    func outcomes() {
        struct Mine: Error {}
        let run = withMetricsFactory(metrics) { Meters.Run() }
        run.fetched(.success(.notModified(total: .unknown, validator: nil)), took: .milliseconds(1))
        run.fetched(.success(.pastEnd), took: .milliseconds(2))
        run.fetched(.failure(FetchFailure(.init(rawValue: "page"), "", isRetryable: true)), took: .milliseconds(3))
        run.fetched(.failure(Mine()), took: .milliseconds(4))
        run.fetched(.failure(CancellationError()), took: .milliseconds(5))
        #expect(
            metrics.counts("pagecache_requests_total")
                == ["not_modified": 1, "past_end": 1, "other": 1, "transport": 1, "cancelled": 1])
        #expect(
            metrics.timings("pagecache_fetch_duration_seconds")
                == ["answered": [1_000_000, 2_000_000], "failed": [3_000_000, 4_000_000]])
        #expect(metrics.count("pagecache_payload_received_bytes_total") == 0)
    }

    @Test("A commit counts its pages and its recorded failures once it is applied (R4)")
    func commits() {
        let run = withMetricsFactory(metrics) { Meters.Run() }
        let page = PageWrite(offset: 0, content: named(0..<10), evidence: .verified)
        let loop = FetchFailure(.loop, "", isRetryable: false)
        let version = ListVersion(generation: 1, revision: 0)
        let plan = CommitPlan(
            query: QueryID(rawValue: 1), version: version,
            edits: [.insertPage(page), .rearrange(.replacing(0..<10, with: page)), .markContiguous(0..<10)],
            ledger: [.succeeded(offset: 0), .failed(offset: 10, failure: loop, nextAttemptIn: nil)])
        run.committed(plan, .superseded(version), took: .milliseconds(1))
        run.committed(plan, .duplicates([0..<10]), took: .milliseconds(2))
        #expect(metrics.count("pagecache_pages_committed_total") == 0)
        run.committed(plan, .committed(version), took: .milliseconds(3))
        #expect(metrics.count("pagecache_pages_committed_total") == 2)
        #expect(metrics.counts("pagecache_ledger_failures_total") == ["none": 1])
        #expect(
            metrics.timings("pagecache_commit_duration_seconds")
                == ["superseded": [1_000_000], "duplicates": [2_000_000], "committed": [3_000_000]])
    }

    @Test("A page in flight in another run is left to that run and counted (R30)")
    func leases() async throws {
        let origin = StagedOrigin(20)
        _ = try await storage.register(key, at: clock.now())
        origin.hold()
        let outcomes = try await withMetricsFactory(metrics) {
            let first = Task { try await sync(origin).run() }
            await origin.reached(1)
            let second = Task { try await sync(origin).run() }
            while metrics.count("pagecache_pages_leased_elsewhere_total") == 0 { await Task.yield() }
            origin.release()
            return [try await first.value.outcome, try await second.value.outcome]
        }
        #expect(outcomes == [.complete, .complete])
    }

    @Test("Background runs count by outcome, and a circuit counts when it opens and when it closes (R32)")
    func engine() async throws {
        let origin = StagedOrigin(20)
        origin.fail(FetchFailure(.transport, "not heard", isRetryable: true))
        let record = try await storage.register(key, at: clock.now())
        try await storage.setPinned(true, record.id)
        var options = EngineOptions()
        options.spread = .zero
        options.sync.transportFailuresUntilOffline = 1
        let engine = SyncEngine(
            storage: storage, options: options, clock: PatientClock(clock), jitter: { 0.5 },
            origin: { _ in .init("origin", origin) })
        try await withMetricsFactory(metrics) {
            let running = Task { try await engine.run() }
            while metrics.counts("pagecache_circuit_changes_total")["closed"] == nil { await Task.yield() }
            running.cancel()
            try await running.value
        }
        #expect(metrics.counts("pagecache_circuit_changes_total") == ["open": 1, "closed": 1])
        let runs = metrics.counts("pagecache_background_runs_total")
        #expect(runs["offline"] == 1)
        #expect(runs.values.reduce(0, +) >= 2)
    }
}
