import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

// Failures of a list: each one is reported, kept apart by the kind of load, and retried for the same page (R14, R37).
extension PagedListTests {
    @Test("The last failure is shown until the retry starts (C10, R37)")
    func lastFailure() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        #expect(list.current.failure == nil)
        origin.fail(refused)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.failure?.kind == .first)
        #expect(list.current.displayState == .firstFailed(ListFailure(.first, refused)))
        origin.hold()
        let retry = Task { try await list.retry() }
        await origin.reached(2)
        #expect(list.current.failure == nil, "as soon as the retry starts")
        origin.release()
        _ = try await retry.value
        #expect(list.current.failure == nil)
        origin.fail(refused)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(list.current.failure?.kind == .next)
        try await list.reset()
        #expect(list.current.failure == nil)
    }

    @Test(
        "A failure keeps the items, and the retry requests the same page (C11)",
        arguments: [PagingAccess.offsets, .chain])
    func samePage(access: PagingAccess) async throws {
        let origin = StagedOrigin(access: access)
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.failure.failureClass == .transport)
        #expect(numbers(list) == Array(0..<10))
        #expect(try await list.retry() == .loaded(10))
        #expect(origin.requests[1].target == origin.requests[2].target)
        #expect(numbers(list) == Array(0..<20))
        #expect(list.current.failure == nil)
    }

    @Test("A failure of page one has its own kind, and the next load can succeed (C12, X1)")
    func firstPage() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.kind == .first)
        #expect(try await list.loadNext() == .loaded(10))
    }

    @Test("A source's own error reaches the caller unchanged")
    func ownError() async throws {
        struct Mine: Error, Equatable { var number: Int }
        let fetch: @Sendable (Int, Int) async throws -> [Row] = { _, _ in throw Mine(number: 7) }
        let source = ItemSource<Row>.offsets(pageSize: 10, fetch: fetch)
        let repository = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, source: { _ in source })
        let failure = await #expect(throws: ListFailure.self) { try await repository.list(key).load() }
        #expect(failure?.cause as? Mine == Mine(number: 7))
        #expect(failure?.kind == .first)
    }

    @Test("A refresh that fails keeps all items (C14, R14)")
    func refreshFails() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(failure?.kind == .refresh)
        #expect(numbers(list) == Array(0..<10))
        #expect(list.current.displayState == .refreshFailed(try #require(failure)))
    }

    @Test("After a failed next page, prefetching does not retry; only an explicit call does (C25)")
    func gate() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        for position in 0..<10 { await list.prefetch(from: position) }
        #expect(origin.requests.count == 2)
        #expect(try await list.retry() == .loaded(10))
        await list.prefetch(from: 19)
        #expect(origin.requests.count > 3)
    }

    @Test("With automatic retry by the ledger, prefetching retries when the page is due (C25)")
    func gateByLedger() async throws {
        let origin = StagedOrigin()
        let list = list(origin) { $0.automaticRetry = .perLedger }
        try await list.load()
        origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        await list.prefetch(from: 9)
        #expect(origin.requests.count == 2)
        clock.advance(by: .seconds(1))
        await list.prefetch(from: 9)
        #expect(origin.requests.count > 2)
        #expect(list.current.items.count >= 20)
    }

    @Test("A list is idle after a failure (X10)")
    func idleAfterFailure() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.fail(away, away)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.activity == .idle && !list.current.isLoading)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.activity == .idle)
    }

    @Test("A display state equals itself, and states with different failures differ (X11)")
    func displayStates() {
        let one = ListFailure(.next, away)
        let states: [DisplayState] = [
            .nothing, .empty, .items, .loadingFirst, .firstFailed(one), .refreshing, .refreshFailed(one), .loadingNext,
            .nextFailed(one), .nextFailed(ListFailure(.next, refused)),
        ]
        for (index, state) in states.enumerated() {
            for (other, another) in states.enumerated() { #expect((state == another) == (index == other)) }
        }
    }

    @Test("A load whose page budget allows page one only says so, and blames no answer", arguments: [-1, 0, 1])
    func pageBudget(maxPages: Int) async throws {
        let list = list(StagedOrigin()) { $0.sync.maxPages = maxPages }
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadAll() }
        #expect(failure?.kind == .next && failure?.failure.failureClass == .limitExceeded)
        #expect(numbers(list) == Array(0..<10) && list.current.hasMore)
    }

    @Test("A refused cursor costs a walk up to the next page and no further (R22)")
    func refusedCursor() async throws {
        let origin = StagedOrigin(200, access: .chain)
        let list = list(origin)
        for _ in 0..<3 { try await list.loadNext() }
        let before = origin.requests.count
        origin.fail(FetchFailure(.rejected, "gone", isRetryable: false, httpStatus: 410))
        _ = try await list.loadNext()
        #expect(numbers(list) == Array(0..<40))
        #expect(origin.requests.count - before == 1 + 4)
    }
}
