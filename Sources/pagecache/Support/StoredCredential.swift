#if Tool
import HTTPPageSource
import PageModel
import PagedRepository

extension QueryRecord {
    /// Whether the list was fetched with a credential. To a source without a credential, such a list belongs to another
    /// owner (R45).
    var hasCredential: Bool {
        guard let url = ListRunner.url(of: self),
            let plain = try? HTTPSource(HTTPSourceConfiguration(url: url), transport: NoTransport())
        else { return false }
        return plain.belongsToAnother(stored: source)
    }
}

/// A transport for a source that sends no request.
private struct NoTransport: HTTPTransport {
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        throw FetchFailure(.transport, "no request is sent", isRetryable: false)
    }
}
#endif
