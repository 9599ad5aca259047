import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

// Observation of a list: prefetching, events and the observable model.
extension PagedListTests {
    @Test(
        "A list whose source never suspends is loaded to its end, which one event reports (C16, C23)"
    )
    func synchronous() async throws {
        let list = list(StagedOrigin(35))
        let events = list.events
        try await list.load()
        var ends = 0
        var ranges: [Range<Int>] = []
        let loading = Task { while list.current.hasMore { try await list.loadNext() } }
        for await event in events {
            if case .pageLoaded(let range, let rows) = event {
                ranges.append(range)
                #expect(rows.map(\.number) == Array(range), "an event carries its range and its items (C24)")
            }
            if case .endReached = event {
                ends += 1
                #expect(try await list.loadNext() == .endReached)
                break
            }
        }
        try await loading.value
        #expect(ends == 1)
        #expect(ranges.last == 30..<35)
    }

    @Test("Looking at items prefetches as far as the options allow and no further (X13)")
    func prefetch() async throws {
        let origin = StagedOrigin(200)
        let list = list(origin) {
            $0.prefetchDistance = 2
            $0.prefetchLimit = 3
        }
        try await list.load()
        await list.prefetch(from: 0)
        #expect(list.current.items.count == 30, "two pages ahead of the first item's page")
        await list.prefetch(from: 5)
        #expect(list.current.items.count == 30)
        await list.prefetch(from: 29)
        #expect(list.current.items.count == 60, "at most three pages at a time")
        try await list.refresh()
        await list.prefetch(from: 0)
        #expect(list.current.items.count == 60, "a refresh resets the furthest position looked at")
    }

    @Test("A prefetch that fails is silent and recorded in the ledger, and is shown at the end of the list (X13)")
    func silentPrefetch() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        await list.prefetch(from: 5)
        #expect(origin.requests.count == 2)
        #expect(list.current.failure == nil)
        #expect(list.current.failingPages == 1)
        await list.prefetch(from: 9)
        #expect(list.current.failure?.kind == .next)
        #expect(origin.requests.count == 2)
    }

    @Test("An observer that never reads delays no load")
    func neverReads() async throws {
        let list = list(StagedOrigin(500))
        let forgotten = (list.snapshots, list.events)
        try await list.loadAll()
        #expect(list.current.items.count == 500)
        withExtendedLifetime(forgotten) {}
    }

    @Test("The model shows the items of the list and follows its changes")
    @MainActor func model() async throws {
        let list = list(StagedOrigin(15))
        let model = PagedListModel(list)
        let running = Task { await model.run() }
        // A load of the next page during the refresh would be superseded.
        while model.items.count < 10 || model.isLoading { await Task.yield() }
        #expect(model.displayState == .items)
        await model.loadNext()
        while model.items.count < 15 { await Task.yield() }
        #expect(!model.hasMore)
        running.cancel()
        await running.value
    }

    @Test(
        "A model follows the list while any of its `run()` calls is active, and shows no load after the last one ended")
    @MainActor func modelLeft() async throws {
        let origin = StagedOrigin(15)
        let model = PagedListModel(list(origin))
        origin.hold()
        let runs = (Task { await model.run() }, Task { await model.run() })
        while !model.isLoading { await Task.yield() }
        await origin.reached(1)
        runs.0.cancel()
        await runs.0.value
        #expect(model.isLoading)
        runs.1.cancel()
        await runs.1.value
        #expect(!model.isLoading && model.displayState == .nothing)
        origin.release()
        await model.refresh()
        #expect(model.items.count == 10)
    }
}
