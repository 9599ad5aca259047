#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("Common APIs, detected from the URL alone")
struct PublicAPITests {
    static let all = PublicAPI.numbered + PublicAPI.placed + PublicAPI.linked + PublicAPI.tokens + PublicAPI.keyed

    /// Returns a source for the API, and its origin.
    private func source(_ api: PublicAPI) throws -> (HTTPSource, ScriptedOrigin) {
        let origin = ScriptedOrigin { api.respond($0, $1) }
        return (try HTTPSource(HTTPSourceConfiguration(url: api.url), transport: origin), origin)
    }

    /// Fetches the list, and expects every item. Returns the number of requests.
    private func expectEveryItem(of api: PublicAPI, pageSize: Int? = nil) async throws -> Int {
        let (source, origin) = try source(api)
        let clock = ManualClock(), storage = MemoryStorage(clock: clock),
            key = try #require(HTTPSource.key(for: api.url))
        var options = SyncOptions()
        options.pageSize = pageSize
        let report = try await ListSync(
            storage: storage, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
        #expect(report.outcome == .complete, "\(report.headFailure?.message ?? "") \(report.warnings)")
        let repository = ListRepository(storage: storage, codec: RawItemCodec(), clock: clock, source: { _ in source })
        let items = try await repository.page(key, offset: 0, limit: 1_000, policy: .cacheOnly).items
        #expect(
            items.map { String(decoding: $0, as: UTF8.self) } == (0..<PublicAPI.count).map(api.item), "\(origin.urls)")
        return origin.requests.count
    }

    @Test(
        "Detection takes at most eight requests, and then every item is fetched in order with one request per page",
        arguments: all)
    func everyItem(api: PublicAPI) async throws {
        let (source, origin) = try source(api)
        _ = try await source.fetch(PageRequest(.first))
        #expect(origin.requests.count <= 8, "\(origin.urls)")
        #expect(source.access == api.access, "\(source.summary ?? ""): \(source.explanation.map(\.description))")
        #expect(try await expectEveryItem(of: api) <= 8 + api.following)
    }

    @Test(
        "Every item is fetched although the requested page size is too large or its parameter unknown",
        arguments: all)
    func clamped(api: PublicAPI) async throws {
        let (source, origin) = try source(api)
        _ = try await source.fetch(PageRequest(.first, size: 500))
        #expect(origin.requests.count <= 8, "\(origin.urls)")
        _ = try await expectEveryItem(of: api, pageSize: 500)
    }

    @Test(
        "A list ends where the origin reports no more items, with any usual status",
        arguments: [200, 204, 400, 404, 416])
    func pastEnd(status: Int) async throws {
        // The items fill the pages exactly, so that the last page is full.
        _ = try await expectEveryItem(
            of: PublicAPI("pages of 23", "http://h/api", size: 23, .grid(size: 23)) { url in
                let page = Slice(from: ((url.digits("page") ?? 1) - 1) * 23, 23)
                if page.count == 0, status != 200 { return HTTPPageResponse(status: status) }
                return .body(#"{"data":[\#(page.items())]}"#)
            })
    }

    @Test("A URL of a later page leads to a warning and the whole list, unless paging is disabled")
    func laterPage() async throws {
        let api = try #require(PublicAPI.numbered.first { $0.url.contains("page=3") })
        let origin = ScriptedOrigin { api.respond($0, $1) }
        let source = try HTTPSource(HTTPSourceConfiguration(url: api.url), transport: origin)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { throw NoPage() }
        #expect(
            page.detectedPaging?.warnings == [
                "page in the URL leads to a later page; the list is fetched from its beginning"
            ])
        #expect(page.content.ids.first == "i0")

        var configuration = HTTPSourceConfiguration(url: api.url)
        configuration.paging = .none
        let alone = try HTTPSource(configuration, transport: origin)
        guard case .page(let third) = try await alone.fetch(PageRequest(.first)) else { throw NoPage() }
        #expect(third.content.ids.first == "i50")
    }

    @Test("Positions that count from 1 are detected, and persist across a restart")
    func countedFromOne() async throws {
        let api = try #require(PublicAPI.placed.first { $0.testDescription.hasPrefix("SCIM") })
        let origin = ScriptedOrigin { api.respond($0, $1) }
        let source = try HTTPSource(HTTPSourceConfiguration(url: api.url), transport: origin)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)),
            let detectedPaging = page.detectedPaging
        else {
            throw NoPage()
        }
        let again = try HTTPSource(
            HTTPSourceConfiguration(url: api.url), stored: detectedPaging.source, transport: origin)
        guard case .page(let second) = try await again.fetch(PageRequest(.offset(20))) else { throw NoPage() }
        #expect(second.content.ids.first == "i20")
        #expect(origin.urls.last == "http://h/scim/v2/Users?startIndex=21")
    }
}
#endif
