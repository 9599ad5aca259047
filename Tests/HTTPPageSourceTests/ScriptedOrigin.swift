#if HTTP
import Synchronization
import Testing

@testable import HTTPPageSource

/// An origin that answers with a function of the request, and records its requests.
///
/// State: the requests in order, under a mutex.
final class ScriptedOrigin: HTTPTransport {
    private let log = Mutex<[HTTPPageRequest]>([])
    private let answer: @Sendable (OriginURL, HTTPPageRequest) throws -> HTTPPageResponse

    init(_ answer: @escaping @Sendable (OriginURL, HTTPPageRequest) throws -> HTTPPageResponse) { self.answer = answer }

    var requests: [HTTPPageRequest] { log.withLock { $0 } }
    var urls: [String] { requests.map(\.url) }

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        log.withLock { $0.append(request) }
        return try answer(try #require(OriginURL(request.url)), request)
    }
}

extension HTTPPageRequest {
    /// Returns the value of a header. Returns nil when the header was not sent.
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

extension HTTPPageResponse {
    static func json(_ text: String, _ headers: [HTTPField] = [], status: Int = 200) -> HTTPPageResponse {
        HTTPPageResponse(
            status: status, headers: [HTTPField("Content-Type", "application/json")] + headers, body: Array(text.utf8))
    }

    static func redirect(to location: String, status: Int = 302) -> HTTPPageResponse {
        HTTPPageResponse(status: status, headers: [HTTPField("Location", location)])
    }
}
#endif
