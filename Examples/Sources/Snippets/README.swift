import HTTPPageSource
// snippet: library
import PagedRepository
// end

func readme(_ api: any EventsAPI) async throws {
    // snippet: library
    let store = try await SQLitePageStore.open(at: "cache/store.sqlite")
    let source = ItemSource.offsets(pageSize: 20) { offset, size in try await api.events(offset, size) }
    let list = ListRepository(storage: store, source: source).list("events")

    try await list.load(.originFirst)  // page one; the cached items when the API is offline
    show(list.current.items)
    try await list.loadNext()  // the next page that is not cached
    // end
    await store.close()
}

func registry(_ store: SQLitePageStore) async throws {
    // snippet: registry
    let transport = AsyncHTTPTransport()
    let catalogue = HTTPSourceConfiguration(url: "http://localhost:5000/v2/_catalog?n=100")
    let source = try HTTPSource(catalogue, transport: transport)
    let report = try await ListSync(storage: store, source: source, key: "images").run()
    print(report.outcome, report.pagesFetched, source.summary ?? "")
    await transport.close()
    // end
}

protocol EventsAPI: Sendable {
    func events(_ offset: Int, _ size: Int) async throws -> ItemsResponse
}
