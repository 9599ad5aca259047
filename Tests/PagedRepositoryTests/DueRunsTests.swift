import PageModel
import PageStore
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

/// The runs that a look at one moment finds due (R29, R33).
@Suite("Due runs of one moment")
struct DueRunsTests {
    private let noon = Timestamp(milliseconds: 1_800_000_000_000)
    private let plan = DueRuns(
        scheduler: SyncScheduler(
            rules: SyncScheduler.Rules(freshness: FreshnessPolicy(), longestPause: .seconds(3_600))))

    /// A list with pages of ten items and a ledger.
    private func list(
        held: [Int] = [0], total: Int? = 100, validated age: Duration? = .seconds(1), isPinned: Bool = false,
        sweep: Bool = false,
        ledger: [LedgerEntry] = [], freshFor: Duration? = nil, invalidated: Timestamp? = nil
    ) -> ListOutline {
        let validatedAt = age.map { noon + (.zero - $0) }
        let record = QueryRecord(
            id: QueryID(rawValue: 1), key: "list", version: ListVersion(generation: 1, revision: 0),
            total: total.map { .exact($0) } ?? .unknown, end: nil, validatedAt: validatedAt, createdAt: noon,
            allowsDuplicates: false, paging: "offset", source: "",
            sweep: sweep ? SweepProgress(position: 20, startedAt: noon) : nil,
            isPinned: isPinned, invalidatedAt: invalidated, freshFor: freshFor)
        let pages = held.map {
            PageSummary(
                offset: $0, count: 10, generation: 1, revision: 0, evidence: .verified, evidenceAt: noon,
                fetchedAt: noon,
                validatedAt: noon, fingerprint: 0, cursorIn: nil, cursorOut: nil, validator: nil)
        }
        return ListOutline(record: record, pages: pages, ledger: ledger, readAt: noon)
    }

    private func failing(_ offset: Int, _ next: Timestamp?, isRetryable: Bool = true) -> LedgerEntry {
        LedgerEntry(
            offset: offset, state: isRetryable ? .failedRetryable : .failedPermanent, attempts: 1, lastAttemptAt: noon,
            nextAttemptAt: next, failure: FetchFailure(.server, "m", isRetryable: isRetryable))
    }

    @Test("A list that is not pinned has only the due retries of its ledger to run")
    func ledger() {
        #expect(plan.runs(for: list(validated: .seconds(900)), now: noon).isEmpty, "the list is stale, but not pinned")
        let entries = [failing(30, noon), failing(50, noon + .seconds(5)), failing(70, nil, isRetryable: false)]
        #expect(plan.runs(for: list(ledger: entries), now: noon) == [.positions(30..<39)])
        #expect(plan.runs(for: list(ledger: entries), now: noon + .seconds(5)) == [.positions(30..<59)])
    }

    @Test("An interrupted sweep is due with the page at which it stopped, and never after a permanent failure (R33)")
    func sweepFailure() {
        func runs(_ failure: LedgerEntry, _ later: Duration) -> [SyncOptions.Work] {
            plan.runs(for: list(validated: .seconds(900), sweep: true, ledger: [failure]), now: noon + later)
        }
        let failure = failing(20, noon + .seconds(5))
        #expect(runs(failure, .zero).isEmpty)
        #expect(runs(failure, .seconds(5)) == [.sweep])
        #expect(runs(failing(30, noon + .seconds(5)), .zero) == [.sweep], "the sweep has not come there")
        #expect(runs(failing(20, nil, isRetryable: false), .seconds(7_200)).isEmpty)
    }

    @Test("A retry further ahead than any back-off allows is due (R29)")
    func clockSetBack() {
        #expect(plan.retries(of: list(ledger: [failing(30, noon + .seconds(301))]), now: noon) == [.positions(30..<39)])
        #expect(plan.retries(of: list(ledger: [failing(30, noon + .seconds(300))]), now: noon).isEmpty)
    }

    @Test("Adjacent failing pages form one run; held pages and pages not yet due separate runs")
    func stretches() {
        let entries = [
            failing(10, noon), failing(20, noon), failing(40, noon), failing(50, noon + .seconds(9)), failing(60, noon),
        ]
        #expect(
            plan.retries(of: list(held: [0, 30], ledger: entries), now: noon)
                == [.positions(10..<30), .positions(40..<50), .positions(60..<69)])
    }

    @Test("A retry covers a whole page: up to the next known page, to the end of the list, or one page size")
    func wholePages() {
        // Pages that were read without overlap are as long as page one. The last page ends where the list ends.
        #expect(plan.retries(of: list(held: [0, 20], ledger: [failing(10, noon)]), now: noon) == [.positions(10..<20)])
        #expect(plan.retries(of: list(total: 37, ledger: [failing(30, noon)]), now: noon) == [.positions(30..<37)])
        #expect(plan.retries(of: list(total: nil, ledger: [failing(30, noon)]), now: noon) == [.positions(30..<39)])
        #expect(
            plan.retries(of: list(total: 20, ledger: [failing(30, noon)]), now: noon) == [.positions(30..<31)],
            "after the end")
    }

    @Test("Page one is retried first and alone; a list whose page one was never fetched needs everything")
    func pageOne() {
        #expect(
            plan.retries(of: list(ledger: [failing(0, noon), failing(30, noon)]), now: noon) == [
                .refresh, .positions(30..<39),
            ])
        #expect(
            plan.retries(of: list(held: [], validated: nil, ledger: [failing(0, noon)]), now: noon) == [.everything])
    }

    @Test("A pinned list is refreshed when stale and completed when fresh, and a sweep is resumed")
    func pinned() {
        #expect(plan.runs(for: list(held: whole, isPinned: true), now: noon).isEmpty)
        #expect(plan.runs(for: list(held: whole, validated: .seconds(61), isPinned: true), now: noon) == [.everything])
        #expect(plan.runs(for: list(isPinned: true), now: noon) == [.positions(0..<Int.max)])
        #expect(plan.runs(for: list(validated: .seconds(61), sweep: true), now: noon) == [.sweep])
        // A permanent failure is not retried automatically (R33). Other pages of the list stay due.
        let entries = [failing(0, nil, isRetryable: false), failing(30, noon)]
        #expect(
            plan.runs(for: list(validated: .seconds(61), isPinned: true, ledger: entries), now: noon) == [
                .positions(30..<39)
            ])
    }

    /// The page offsets of a complete list.
    private let whole = Array(stride(from: 0, to: 100, by: 10))

    /// Whether page one of a complete list is due under these rules. The list is pinned by default.
    private func isDue(
        _ age: Duration, freshFor: Duration? = nil, invalidated: Timestamp? = nil, isPinned: Bool = true,
        _ policy: FreshnessPolicy = FreshnessPolicy(), shortestAge: Duration = .seconds(1)
    ) -> Bool {
        let rules = SyncScheduler.Rules(freshness: policy, longestPause: .seconds(3_600), shortestAge: shortestAge)
        let list = list(held: whole, validated: age, isPinned: isPinned, freshFor: freshFor, invalidated: invalidated)
        let runs = DueRuns(scheduler: SyncScheduler(rules: rules)).runs(for: list, now: noon)
        #expect(runs.isEmpty || runs == [.everything])
        return !runs.isEmpty
    }

    @Test("A pinned list is due when the origin's max-age ends, whether that is before or after the policy's age")
    func originsWord() {
        #expect(!isDue(.seconds(61), freshFor: .seconds(600)))
        #expect(isDue(.seconds(600), freshFor: .seconds(600)))
        #expect(isDue(.seconds(5), freshFor: .seconds(5)))
        // A policy that ignores the origin's max-age uses its own age.
        let own = FreshnessPolicy(staleAfter: .seconds(60), originLifetime: .ignored)
        #expect(isDue(.seconds(61), freshFor: .seconds(600), own))
        #expect(!isDue(.seconds(5), freshFor: .seconds(5), own))
    }

    @Test("An invalidated list is due at any age when it is pinned, and never due when it is not pinned")
    func invalidated() {
        #expect(isDue(.seconds(1), freshFor: .seconds(600), invalidated: noon))
        #expect(isDue(.zero, invalidated: noon))
        #expect(!isDue(.seconds(1), invalidated: noon, isPinned: false))
    }

    @Test(
        "A list that is stale at once is due at once for a single look, and after one second for continuous background work"
    )
    func atOnce() {
        let never = FreshnessPolicy(staleAfter: .zero)
        #expect(isDue(.zero, never, shortestAge: .zero))
        #expect(isDue(.milliseconds(1), freshFor: .zero, shortestAge: .zero))
        #expect(!isDue(.zero, never))
        #expect(!isDue(.milliseconds(999), freshFor: .zero))
        #expect(isDue(.seconds(1), freshFor: .zero))
    }

    @Test(
        "DueWork finds a pinned list due in the moment of its validation when the policy's age is zero"
    )
    func sameMoment() async throws {
        let store = MemoryStorage(clock: ManualClock(noon))
        let record = try await store.register("pinned", at: noon)
        try await store.setPinned(true, record.id)
        _ = try await store.commit(
            CommitPlan(
                query: record.id, version: record.version, edits: [.setTotal(.exact(0)), .setEnd(0), .validated]))
        let policy = FreshnessPolicy(staleAfter: .zero, originLifetime: .ignored)
        #expect(try await DueWork.all(in: store, freshness: policy).map(\.runs) == [[.everything]])
        #expect(try await DueWork.all(in: store).isEmpty)
    }

    @Test(
        "A run of due work honors the ledger and does not begin a sweep that another process has finished (R31, R33)")
    func options() {
        var base = SyncOptions()
        base.concurrency = 7
        let options = DueWork.options(for: .sweep, from: base)
        #expect(options.work == .sweep)
        #expect(options.honorsLedger)
        #expect(options.onlyFinishesSweeps)
        #expect(options.concurrency == 7)
    }

    @Test("A sweep that another process finished since the look costs one request for page one (R31)")
    func finishedByAnother() async throws {
        let clock = ManualClock(noon)
        let bench = try await SyncBench(clock)
        let origin = ListOrigin((0..<48).map { "i\($0)" })
        func requests(of options: SyncOptions) async throws -> Int {
            let before = origin.requests.count
            _ = try await ListSync(storage: bench.store, source: origin, key: bench.key, options: options).run()
            return origin.requests.count - before
        }
        func setSweep(_ sweep: SweepProgress?) async throws {
            let record = try #require(try await bench.list?.record)
            _ = try await bench.store.commit(
                CommitPlan(query: record.id, version: record.version, edits: [.setSweep(sweep)]))
        }
        _ = try await requests(of: SyncOptions())
        try await setSweep(SweepProgress(position: 10, startedAt: noon))
        clock.advance(by: .seconds(3_600))
        #expect(try await DueWork.all(in: bench.store).map(\.runs) == [[.sweep]])
        try await setSweep(nil)
        #expect(try await requests(of: DueWork.options(for: .sweep, from: SyncOptions())) == 1)
        // An explicit request for a sweep runs one.
        var options = SyncOptions()
        options.work = .sweep
        #expect(try await requests(of: options) > 1)
    }

    @Test("DueWork returns the lists of a storage that have due work, and no others")
    func wholeStorage() async throws {
        let store = MemoryStorage(clock: ManualClock(noon))
        let failed = try await store.register("failed", at: noon).id
        let later = try await store.register("later", at: noon).id
        let pinned = try await store.register("pinned", at: noon).id
        let failure = FetchFailure(.server, "m", isRetryable: true)
        try await store.record([.failed(offset: 50, failure: failure, nextAttemptIn: .zero)], for: failed, at: noon)
        try await store.record(
            [.failed(offset: 50, failure: failure, nextAttemptIn: .seconds(60))], for: later, at: noon)
        try await store.setPinned(true, pinned)
        store.manualClock.set(to: noon + .seconds(1))
        let due = try await DueWork.all(in: store)
        #expect(due.map(\.query.id) == [failed, pinned])
        #expect(due.map(\.runs) == [[.positions(50..<51)], [.everything]])
        // A page that a caller wants now is due without waiting (R33).
        try await store.record([.expedited(offset: 50)], for: later, at: noon + .seconds(1))
        #expect(try await DueWork.all(in: store).map(\.query.id) == [failed, later, pinned])
    }
}
