#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository
import StorageSupport
import Testing

/// A list of a server as an embedding program uses it. Its source starts with the stored paging profile.
struct Embedding {
    let key: QueryKey
    let source: HTTPSource
    let repository: ListRepository<[UInt8]>
    let list: PagedList<[UInt8]>

    init(_ url: String, _ store: SQLitePageStore, _ transport: any HTTPTransport) async throws {
        key = try #require(HTTPSource.key(for: url))
        let stored = try await store.query(key)?.source
        let source = try HTTPSource(HTTPSourceConfiguration(url: url), stored: stored, transport: transport)
        self.source = source
        var options = PagedListOptions()
        // Kinto sends no-store with every answer. The embedding program decides to store them.
        options.sync.storesDespiteNoStore = true
        repository = ListRepository(storage: store, codec: RawItemCodec(), options: options, source: { _ in source })
        list = repository.list(key)
    }
}

/// A transport for a server that is gone. It sends requests over the real network to a port without a listener.
struct GoneServer: HTTPTransport {
    let network: AsyncHTTPTransport

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        var request = request
        request.url = "http://127.0.0.1:1/"
        return try await network.send(request)
    }
}

/// Runs `body` with a new store and the real network, and closes both.
func withStore(_ body: (SQLitePageStore, AsyncHTTPTransport) async throws -> Void) async throws {
    let folder = Folder()
    let store = try await SQLitePageStore.open(at: folder.store, mode: .createIfMissing)
    let network = AsyncHTTPTransport()
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(store, network))
    } catch {
        result = .failure(error)
    }
    await network.close()
    await store.close()
    withExtendedLifetime(folder) {}
    try result.get()
}
#endif
