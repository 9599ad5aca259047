import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import GettingStarted

@Suite("The view model of Getting started", .timeLimit(.minutes(1)))
@MainActor
struct EventsModelTests {
    private let origin = ItemOrigin((0..<48).map { Event(id: $0, title: "event \($0)") }, pageSize: 10)

    /// A permanent failure, so that the run does not retry the request by itself.
    private static let away = FetchFailure(.server, "the API is offline", isRetryable: false)

    private func repository(_ store: SQLitePageStore) -> ListRepository<Event> {
        let origin = origin
        return ListRepository(
            storage: store, codec: JSONItemCodec<Event>(), clock: ManualClock(), source: { _ in origin })
    }

    @Test("The headline says what the screen shows: nothing, events, a failure of the next page, a failure of all")
    func headline() async throws {
        let model = EventsModel(repository(try await .inMemory()), account: "ann")
        #expect(model.headline == "not loaded yet", "no load is under way")
        origin.fail(Self.away)
        await model.list.refresh()
        #expect(model.headline.hasPrefix("the list failed to load: "))
        await model.list.retry()
        #expect(model.headline == "10 of 48 events")
        origin.fail(Self.away)
        await model.list.loadNext()
        #expect(model.headline.hasPrefix("10 events; the next page failed to load: "))
        await model.list.retry()
        #expect(model.headline == "20 of 48 events")
    }

    @Test("After a restart the events are there while the API is offline, and after the log-out they are gone")
    func restartAndLogOut() async throws {
        let store = try await SQLitePageStore.inMemory()
        await EventsModel(repository(store), account: "ann").list.refresh()
        let repository = repository(store)
        let model = EventsModel(repository, account: "ann")
        let running = Task { await model.list.run(.cacheThenRefresh) }
        origin.fail(Self.away)
        while model.list.failure == nil, !Task.isCancelled { await Task.yield() }
        #expect(model.headline.hasPrefix("10 events; the refresh of the list failed: "))
        try await repository.forget(scope: "ann")
        while !model.list.items.isEmpty, !Task.isCancelled { await Task.yield() }
        running.cancel()
        #expect(try await store.records().isEmpty)
    }
}
