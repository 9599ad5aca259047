import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

// What fails, and what a list makes of it: said, kept apart by what was asked for, tried again for the same page (R14,
// R37).
extension PagedListTests {
    @Test("C10, R37: the last failure is there until the retry starts")
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
        #expect(list.current.failure == nil, "as soon as it starts")
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
        "C11: a failure keeps the items, and the retry asks for the very same page",
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

    @Test("C12, X1: page one can fail, is told apart from later pages, and is no dead end")
    func firstPage() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.kind == .first)
        #expect(try await list.loadNext() == .loaded(10))
    }

    @Test("a source's own error reaches the caller, as it was thrown")
    func ownError() async throws {
        struct Mine: Error, Equatable { var number: Int }
        let fetch: @Sendable (Int, Int) async throws -> [Row] = { _, _ in throw Mine(number: 7) }
        let source = try ItemSource<Row>.offsets(pageSize: 10, fetch: fetch)
        let repository = PagedRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, source: { _ in source })
        let failure = await #expect(throws: ListFailure.self) { try await repository.list(key).load() }
        #expect(failure?.cause as? Mine == Mine(number: 7))
        #expect(failure?.kind == .first)
    }

    @Test("C14, R14: a refresh that fails takes nothing away")
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

    @Test("C25: after a next page has failed, scrolling does not try again; only an explicit call does")
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

    @Test("C25: unless it was told to go by the ledger; then it tries when it is time")
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

    @Test("X10: after a failure nothing is loading")
    func idleAfterFailure() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.fail(away, away)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.activity == .idle && !list.current.isLoading)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.activity == .idle)
    }

    @Test("X11: what is displayed equals itself, and differs when failures do")
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

    @Test("R22: a cursor that is refused costs a walk up to the next page, and no further")
    func refusedCursor() async throws {
        let origin = StagedOrigin(200, access: .chain)
        let list = list(origin)
        for _ in 0..<3 { try await list.loadNext() }
        let before = origin.requests.count
        origin.fail(FetchFailure(.refused, "gone", isRetryable: false, httpStatus: 410))
        _ = try await list.loadNext()
        #expect(numbers(list) == Array(0..<40))
        #expect(origin.requests.count - before == 1 + 4)
    }
}
