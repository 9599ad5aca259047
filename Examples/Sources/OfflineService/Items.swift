import Hummingbird
import PagedRepository

/// Answers requests from the store alone, so no client waits for the upstream (R10).
struct Items: Sendable {
    private let key: QueryKey
    private let freshness: FreshnessPolicy
    /// The service does not decode the items. It returns them byte for byte as the upstream sent them (R7).
    private let repository: ListRepository<[UInt8]>

    init(_ store: any PageStorage, _ source: any PageSource, key: QueryKey, _ freshness: FreshnessPolicy) {
        self.key = key
        self.freshness = freshness
        var options = PagedListOptions()
        options.freshness = freshness
        repository = ListRepository(storage: store, codec: RawItemCodec(), options: options) { _ in source }
    }

    /// Adds the two paths of the list to a router.
    func add(to router: Router<BasicRequestContext>) {
        router.get("items") { request, _ in try await page(request) }
        router.get("healthz") { _, _ in try await health() }
    }

    /// Answers `GET /items?offset=0&limit=20`. `offset` defaults to 0. `limit` defaults to 20 and is clamped to
    /// 1...100.
    func page(_ request: Request) async throws -> Response {
        let parameters = request.uri.queryParameters
        let offset = parameters["offset"].flatMap { Int($0) } ?? 0
        let limit = min(max(parameters["limit"].flatMap { Int($0) } ?? 20, 1), 100)
        let window = try await repository.page(key, offset: offset, limit: limit, policy: .cacheOnly)
        guard let provenance = Provenance(window, freshness, now: SystemClock().now()) else {
            // A list that was never fetched is not empty (R11). The engine fetches it.
            return Response(status: .serviceUnavailable, headers: Provenance.nothing)
        }
        var headers = provenance.headers
        headers[.contentType] = "application/json"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: body(of: window)))
    }

    /// Answers `GET /healthz`. The service is healthy as soon as the list has been fetched once, and stays so while the
    /// upstream is offline.
    func health() async throws -> Response {
        let state = try await repository.page(key, offset: 0, limit: 0, policy: .cacheOnly).freshness
        return Response(
            status: state == nil ? .serviceUnavailable : .ok,
            body: ResponseBody(byteBuffer: ByteBuffer(string: "\(state?.rawValue ?? "nothing cached yet")\n")))
    }

    /// `missing` lists the missing positions (R12), because the first run may still be in progress. Items after missing
    /// positions are sent as well.
    private func body(of window: ItemWindow<[UInt8]>) -> ByteBuffer {
        let total = window.total.count.map { "\($0)" } ?? "null"
        // The JSON does not state the position of each item. A client derives it, because `missing` lists all other
        // positions of the window.
        let missing = (window.missing + window.unusable)
            .sorted { $0.lowerBound < $1.lowerBound }
            .map { "[\($0.lowerBound),\($0.upperBound)]" }
            .joined(separator: ",")
        let offset = window.range.lowerBound
        var body = ByteBuffer(string: #"{"total":\#(total),"offset":\#(offset),"missing":[\#(missing)],"items":["#)
        for (index, item) in window.segments.flatMap(\.items).enumerated() {
            if index > 0 { body.writeString(",") }
            body.writeBytes(item)
        }
        body.writeString("]}\n")
        return body
    }
}
