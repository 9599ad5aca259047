#if Tool
import NIOHTTP1
import Synchronization

/// A paginated API on the loopback interface, for `pagecache demo` and for tests that need a real origin. Its list can
/// change, and its answers can be delayed or fail. It records the requests for this list.
///
/// The list is served with four paging styles:
/// - `/items?offset=&limit=` — total and next in the body, `ETag`
/// - `/pages?page=&per_page=` — page numbers from 1, total in a header
/// - `/linked?after=&n=` — `Link` header, no total
/// - `/feed?after=` — next URL in the body, relative, with a total
public final class DemoOrigin: Sendable {
    /// A fault of one request.
    public enum Fault: Hashable, Sendable {
        /// An answer with this status, and with `Retry-After` in seconds unless `retryAfter` is `nil`.
        case status(Int, retryAfter: Int?)
        /// No answer until `release` is called.
        case hold
    }

    // Guarded by the mutex. No code awaits while it is held.
    private struct State {
        var catalogue: DemoCatalogue
        /// Path and query of every recorded request, in order of arrival.
        var requests: [String] = []
        var answered = 0
        var held: [CheckedContinuation<Void, Never>] = []
        var isReleased = false
        var server: LoopbackServer?
    }

    private let state: Mutex<State>
    private let latency: Duration
    private let pageSize: Int
    private let fault: @Sendable (_ request: Int, _ target: String) -> Fault?

    /// An origin that is not serving yet.
    /// - Parameters:
    ///   - count: the number of items in the list.
    ///   - pageSize: the number of items in a page when the request names none, from 1 to 1,000. Defaults to 100.
    ///   - latency: the delay of each answer. Defaults to zero.
    ///   - fault: returns the fault of the request with this number (from 1) and this target (path and query), or
    ///     `nil`. Defaults to no faults.
    public init(
        count: Int, pageSize: Int = 100, latency: Duration = .zero,
        fault: @escaping @Sendable (_ request: Int, _ target: String) -> Fault? = { _, _ in nil }
    ) {
        state = Mutex(State(catalogue: DemoCatalogue(count: count)))
        self.pageSize = pageSize
        self.latency = latency
        self.fault = fault
    }

    /// Starts the server on a free port, and returns the URL of its root, without a slash at the end.
    public func start() async throws -> String {
        let server = try await LoopbackServer { await self.answer($0) }
        state.withLock { $0.server = server }
        return "http://127.0.0.1:\(server.port)"
    }

    /// Answers all held requests and stops the server. Returns when the port is closed.
    public func stop() async {
        release()
        await state.withLock { $0.server }?.close()
    }

    /// Answers all held requests, and stops holding requests.
    public func release() {
        let held = state.withLock { state in
            state.isReleased = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    // MARK: Requests and content

    /// Path and query of every request so far, in order of arrival. Requests for other paths and with other methods
    /// than GET and HEAD are left out.
    public var requests: [String] { state.withLock { $0.requests } }
    /// The number of requests in `requests` that have been answered.
    public var answered: Int { state.withLock { $0.answered } }
    /// The number of requests that wait for `release`.
    public var held: Int { state.withLock { $0.held.count } }
    /// The ids of the items, in order.
    public var ids: [String] { state.withLock { $0.catalogue.ids.map(DemoCatalogue.name) } }

    /// Inserts a new item at `position`, or at the end if the list is shorter.
    public func insert(at position: Int) { state.withLock { $0.catalogue.insert(at: position) } }
    /// Removes the item at `position`, which has to exist.
    public func remove(at position: Int) { state.withLock { $0.catalogue.remove(at: position) } }

    // MARK: Answering

    private func answer(_ request: LoopbackServer.Request) async -> LoopbackServer.Answer {
        // Requests to other paths and with other methods are not recorded.
        guard ["/items", "/pages", "/linked", "/feed"].contains(request.path) else { return .init(status: .notFound) }
        guard [.GET, .HEAD].contains(request.method) else {
            return .init(status: .methodNotAllowed, headers: ["Allow": "GET, HEAD"])
        }
        let number = state.withLock { state in
            state.requests.append(request.target)
            return state.requests.count
        }
        defer { state.withLock { $0.answered += 1 } }
        if latency > .zero { try? await Task.sleep(for: latency) }
        switch fault(number, request.target) {
        case .status(let status, let retryAfter):
            var answer = LoopbackServer.Answer(status: .init(statusCode: status))
            if let retryAfter { answer.headers.add(name: "Retry-After", value: String(retryAfter)) }
            return answer
        case .hold:
            await hold()
        case nil:
            break
        }
        return page(request)
    }

    private func hold() async {
        await withCheckedContinuation { continuation in
            let isReleased = state.withLock { state in
                if !state.isReleased { state.held.append(continuation) }
                return state.isReleased
            }
            if isReleased { continuation.resume() }
        }
    }

    private func page(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
        let (path, parameters) = (request.path, request.parameters)
        func number(_ name: Substring) -> Int? { parameters[name].flatMap { Int($0) } }
        let catalogue = state.withLock { $0.catalogue }
        let total = catalogue.ids.count
        let size = min(
            max(number(path == "/pages" ? "per_page" : path == "/linked" ? "n" : "limit") ?? pageSize, 1), 1_000)
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        let body: String
        switch path {
        case "/items":
            let offset = max(number("offset") ?? 0, 0)
            let end = min(offset + size, total)
            let next = end < total ? #""/items?limit=\#(size)&offset=\#(end)""# : "null"
            body =
                #"{"count":\#(total),"next":\#(next),"results":[\#(catalogue.json(min(offset, total)..<max(end, min(offset, total))).joined(separator: ","))]}"#
            let tag = "\"\(fingerprint(body))\""
            headers.add(name: "ETag", value: tag)
            if request.headers["If-None-Match"] == [tag] {
                return LoopbackServer.Answer(status: .notModified, headers: headers)
            }
        case "/pages":
            let start = min((max(number("page") ?? 1, 1) - 1) * size, total)
            headers.add(name: "X-Total-Count", value: String(total))
            let page = start / size + 1
            if start + size < total {
                headers.add(name: "Link", value: "</pages?page=\(page + 1)&per_page=\(size)>; rel=\"next\"")
            }
            body = "[\(catalogue.json(start..<min(start + size, total)).joined(separator: ","))]"
        case "/linked":
            let range = after(parameters["after"], catalogue, size)
            if range.upperBound < total {
                headers.add(
                    name: "Link",
                    value: "</linked?after=\(catalogue.ids[range.upperBound - 1])&n=\(size)>; rel=\"next\"")
            }
            body = #"{"items":[\#(catalogue.json(range).joined(separator: ","))]}"#
        default:
            let range = after(parameters["after"], catalogue, size)
            let next = range.upperBound < total ? #""/feed?after=\#(catalogue.ids[range.upperBound - 1])""# : "null"
            body =
                #"{"total":\#(total),"data":{"entries":[\#(catalogue.json(range).joined(separator: ","))]},"next":\#(next)}"#
        }
        return LoopbackServer.Answer(headers: headers, content: body)
    }

    /// Returns the positions of the page after the item with an id, for keyset paging. A `nil` id returns page one. Ids
    /// descend while items are inserted only at the head, so the page begins at the first smaller id, even if the item
    /// is gone.
    private func after(_ id: Substring?, _ catalogue: DemoCatalogue, _ size: Int) -> Range<Int> {
        let last = id.flatMap { Int($0) } ?? Int.max
        let start = catalogue.ids.firstIndex { $0 < last } ?? catalogue.ids.count
        return start..<min(start + size, catalogue.ids.count)
    }

    /// FNV-1a, which is sufficient for an entity tag.
    private func fingerprint(_ text: String) -> String {
        String(text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}
#endif
