#if Tool
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository
import StorageSupport
import Testing

/// One list of a server, as a program holds it: its source knows what was stored with the list.
struct Embedding {
    let key: QueryKey
    let source: HTTPPageSource
    let repository: PagedRepository<[UInt8]>
    let list: PagedList<[UInt8]>

    init(_ url: String, _ store: PageStore, _ transport: any HTTPTransport) async throws {
        key = try #require(HTTPPageSource.key(for: url))
        let stored = try await store.query(key)?.source
        let source = try HTTPPageSource(HTTPSourceConfiguration(url: url), stored: stored, transport: transport)
        self.source = source
        var options = PagedListOptions()
        // Kinto says no-store of everything: whoever embeds us decides.
        options.sync.storesDespiteNoStore = true
        repository = PagedRepository(storage: store, codec: RawItemCodec(), options: options, source: { _ in source })
        list = repository.list(key)
    }
}

/// The way to a server that is not there any more: the real network, asked where nobody listens.
struct GoneServer: HTTPTransport {
    let network: AsyncHTTPTransport

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        var request = request
        request.url = "http://127.0.0.1:1/"
        return try await network.send(request)
    }
}

/// Runs `body` with a store of its own and the real network, and closes both.
func withStore(_ body: (PageStore, AsyncHTTPTransport) async throws -> Void) async throws {
    let folder = Folder()
    let store = try await PageStore.open(at: folder.store, mode: .createIfMissing)
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
