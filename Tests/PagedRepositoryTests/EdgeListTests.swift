import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("At the edge of an application: scrolling, options and the observable model", .timeLimit(.minutes(20)))
struct EdgeListTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "the origin is unreachable", isRetryable: true)

    /// Collects the failures among the events of a list.
    private func failures(of list: PagedList<Row>) -> (task: Task<Void, Never>, seen: @Sendable () -> [ListFailure]) {
        let seen = FailureLog()
        let events = list.events
        let task = Task {
            for await event in events { if case .failed(let failure) = event { seen.add(failure) } }
        }
        return (task, { seen.all })
    }

    @Test("A limit of no pages, or fewer, counts as one page", arguments: [0, -1, Int.min])
    func maxPages(limit: Int) async throws {
        let list = bench.list(StagedOrigin()) { $0.sync.maxPages = limit }
        #expect(try await list.load() == .loaded(10))
    }

    // MARK: A list that was stored before

    @Test("A load in a new process does not count the items that were stored before (R35)", arguments: 0..<4)
    func storedBefore(call: Int) async throws {
        let origin = StagedOrigin()
        try await bench.list(origin).loadAll()
        for hasNews in [false, true] {
            if hasNews { origin.rows.insert(StagedOrigin.row(99), at: 0) }
            let list = bench.list(origin)
            let outcome =
                switch call {
                case 0: try await list.refresh()
                case 1: try await list.retry()
                case 2: try await list.loadAll()
                default: try await list.load()
                }
            #expect(outcome == (hasNews ? .loaded(1) : call == 2 ? .endReached : .upToDate))
        }
    }

    @Test(
        "A refresh in a new process shows the stored items before the origin answers (R10)", arguments: [false, true])
    func showsStored(all: Bool) async throws {
        let origin = StagedOrigin()
        try await bench.list(origin).loadAll()
        let before = origin.requests.count
        origin.hold()
        let list = bench.list(origin)
        let loading = Task { if all { try await list.loadAll() } else { try await list.refresh() } }
        await origin.reached(before + 1)
        #expect(list.current.items.count == 48)
        #expect(list.current.displayState == (all ? .loadingNext : .refreshing))
        origin.release()
        _ = try await loading.value
    }

    // MARK: Scrolling into a failure (X13)

    @Test("A failing next page is silent at first, then shown once, and the retry asks for that page (X13)")
    func scrolling() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        let (task, seen) = failures(of: list)
        try await list.load()
        origin.fail(away)
        await list.prefetch(from: 5)
        #expect(list.current.failure == nil, "no item has appeared since the failure")
        await list.prefetch(from: 6)
        #expect(list.current.failure?.kind == .next)
        for position in 6..<10 { await list.prefetch(from: position) }
        #expect(origin.requests.count == 2)
        guard case .nextFailed = list.current.displayState else {
            Issue.record("\(list.current.displayState)")
            return
        }
        while seen().isEmpty { await Task.yield() }
        #expect(seen().count == 1)
        #expect(try await list.retry() == .loaded(10))
        #expect(origin.requests.map(\.target) == [.first, .offset(10), .offset(10)])
        try await bench.expectServed(0..<20, list)
        #expect(seen().count == 1)
        task.cancel()
    }

    @Test("A failed prefetch is silent and then one event, while the failure of a refresh is shown, too (X13)")
    func scrollingAfterFailedRefresh() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        var events = list.events.makeAsyncIterator()
        for isShown in [false, true] {
            try await list.load()
            origin.fail(away, away)
            await #expect(throws: ListFailure.self) { try await list.refresh() }
            await list.prefetch(from: 5)
            #expect(list.current.failure?.kind == .refresh)
            if isShown {
                await list.prefetch(from: 6)
                await list.prefetch(from: 7)
                #expect(list.current.failure?.kind == .next)
            }
            // The event of the reset follows those of the failures.
            try await list.reset()
            var kinds: [ListFailure.Kind] = []
            while let event = await events.next() {
                if case .failed(let failure) = event { kinds.append(failure.kind) }
                if case .reset = event { break }
            }
            #expect(kinds == (isShown ? [.refresh, .next] : [.refresh]))
        }
    }

    @Test("A next page that fails while the last item is visible is shown at once (X13)")
    func lastItem() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin) { $0.prefetchDistance = 0 }
        let (task, seen) = failures(of: list)
        try await list.load()
        origin.fail(away)
        await list.prefetch(from: 9)
        #expect(list.current.failure?.kind == .next)
        while seen().isEmpty { await Task.yield() }
        await list.prefetch(from: 9)
        #expect(seen().count == 1 && origin.requests.count == 2)
        task.cancel()
    }

    @Test("A retry after a silent failure requests the page that failed")
    func retriesSilently() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.fail(away)
        await list.prefetch(from: 5)
        #expect(try await list.retry() == .loaded(10))
        #expect(origin.requests.map(\.target) == [.first, .offset(10), .offset(10)])
    }

    @Test("Rows that appear only while the list is refreshed load the next page when the refresh has ended (X13)")
    func appearsDuringRefresh() async throws {
        let origin = StagedOrigin()
        try await bench.list(origin).load()
        let list = bench.list(origin)
        try await list.load(.cacheOnly)
        origin.hold()
        let refresh = Task { try await list.refresh() }
        await origin.reached(2)
        // The last cached row is on the screen, and appears once.
        list.itemAppeared(at: 9)
        for _ in 0..<200 { await Task.yield() }
        #expect(origin.requests.count == 2)
        origin.release()
        _ = try await refresh.value
        await list.settled()
        #expect(list.current.items.count > 10 && list.current.failure == nil)
        #expect(list.current.items.map(\.number) == Array(0..<list.current.items.count))
    }

    @Test("A failed refresh stays the failure of the list, although rows appeared meanwhile")
    func refreshFailsMeanwhile() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        let refresh = Task { try await list.refresh() }
        await origin.reached(2)
        list.itemAppeared(at: 9)
        origin.fail(away)
        origin.release()
        await #expect(throws: ListFailure.self) { try await refresh.value }
        await list.settled()
        #expect(list.current.failure?.kind == .refresh && origin.requests.count == 2)
    }

    // MARK: Options at both ends

    @Test(
        "A prefetch distance, a position, a limit or a concurrency of any value traps nowhere",
        arguments: [Int.min, -1, 0, 1, 1 << 59, Int.max])
    func extremes(value: Int) async throws {
        let list = bench.list(StagedOrigin(30)) {
            $0.prefetchDistance = value
            $0.prefetchLimit = value
            $0.itemLimit = value
            $0.sync.concurrency = value
            $0.sync.overlap = value
            $0.sync.restarts = value
            $0.sync.loopGuard = value
            $0.sync.emptyPageLimit = value
            $0.sync.pagesPerQuery = value
            $0.sync.transportFailuresUntilOffline = value
        }
        _ = try? await list.load()
        for position in [value, 0, 9, .max, .min] {
            await list.prefetch(from: position)
            list.itemAppeared(at: position)
        }
        _ = try? await list.loadAll()
        _ = try? await bench.repository(StagedOrigin()).page("other", offset: value, limit: value)
        _ = try? await bench.repository(StagedOrigin()).page("other", offset: 5, limit: value)
    }

    @Test(
        "A pause, a lease or an age of any length traps nowhere",
        arguments: [Duration.seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max)])
    func extremePauses(value: Duration) async throws {
        let origin = StagedOrigin(30)
        origin.fail(nil, away)
        let list = bench.list(origin) {
            $0.sync.retryWaitBudget = value
            $0.sync.confirmationPause = value
            $0.sync.emptyConfirmationPause = value
            $0.sync.lease = value
            $0.sync.retry.base = value
            $0.sync.retry.cap = value
            $0.sync.retry.longestRetryAfter = value
            $0.freshness = FreshnessPolicy(staleAfter: value, expiredAfter: value)
        }
        _ = try? await list.load()
        await list.prefetch(from: 9)
        _ = try? await list.loadAll()
    }

    // MARK: The model

    @Test("A call on the model returns when the model has the result") @MainActor
    func model() async throws {
        let origin = StagedOrigin(200)
        let list = bench.list(origin)
        let model = PagedListModel(list)
        let running = Task { await model.run() }
        while model.items.isEmpty || model.isLoading { await Task.yield() }
        for _ in 0..<50 {
            await model.refresh()
            #expect(!model.isLoading)
        }
        for pages in 2..<20 {
            await model.loadNext()
            #expect(!model.isLoadingNext && model.items.count == pages * 10)
        }
        origin.fail(away)
        await model.loadNext()
        #expect(model.failure?.kind == .next)
        await model.reset()
        #expect(model.items.isEmpty)
        running.cancel()
        await running.value
    }

    @Test("Without run(), a call on the model updates the model") @MainActor
    func modelAlone() async throws {
        let model = PagedListModel(bench.list(StagedOrigin()))
        await model.refresh()
        #expect(model.items.count == 10 && !model.isLoading)
    }
}

/// State: the failures, under a mutex.
private final class FailureLog: Sendable {
    private let failures = Mutex<[ListFailure]>([])

    var all: [ListFailure] { failures.withLock { $0 } }

    func add(_ failure: ListFailure) { failures.withLock { $0.append(failure) } }
}
