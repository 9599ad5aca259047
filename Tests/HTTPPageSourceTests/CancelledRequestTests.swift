#if HTTP
import PagedRepository
import Testing

@testable import HTTPPageSource

/// A transport that never answers. A cancelled request ends, as with the transport of the network.
private struct SilentTransport: HTTPTransport {
    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        // The loop ends only when its task is cancelled.
        for await _ in AsyncStream<Void>.makeStream().stream {}
        throw CancellationError()
    }
}

@Suite("Requests that are cancelled", .timeLimit(.minutes(5)))
struct CancelledRequestTests {
    @Test("A cancelled request is counted as sent, and not as failed")
    func usage() async throws {
        let source = try HTTPSource(HTTPSourceConfiguration(url: "http://h/api"), transport: SilentTransport())
        let call = Task { try await source.first() }
        while source.usage.requests == 0 { await Task.yield() }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(source.usage.requests == 1 && source.usage.failures == 0)
        #expect(source.usage.cancelled == 1)
    }
}
#endif
