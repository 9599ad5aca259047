#if HTTP
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The real network, through AsyncHTTPClient. Close it when done: its connections are kept open between requests.
///
/// It speaks HTTP/1.1 to http and https origins and to no other, follows no redirect, takes no cookie, sends what it is
/// given and nothing that was not asked for, and leaves no trace of its requests with a tracer, whose spans would hold
/// whole URLs (R45). One request is one attempt: trying again is the ledger's business, and counted (R26).
///
/// A body is whole, or it is a failure: a connection that ends too soon, and an answer that is longer than it said, are
/// failures of class `transport`; what passes a limit of size is `hostile`, what passes one of time `timeout` (R43; see
/// `HTTPLimits`).
public final class AsyncHTTPTransport: HTTPTransport {
    private let client: HTTPClient
    private let limits: HTTPLimits
    private let executor = EventLoopExecutor()
    private let deadlines = RequestDeadlines()

    /// A transport with connections of its own. One thread serves all of them: that is a processor's worth of
    /// decrypting and of unpacking, and who needs more has several transports.
    /// - Parameter limits: those of size and time are kept here (R43). Default: the defaults.
    public init(limits: HTTPLimits = HTTPLimits()) {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = AsyncHTTPTransport.amount(limits.connectTimeout)
        configuration.decompression = .enabled(limit: .size(max(limits.decompressedBody, 0)))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(limits.connections, 1)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tracing.tracer = nil
        configuration.http1_1ConnectionDebugInitializer = { AnswerGuard.stand(in: $0, limits) }
        client = HTTPClient(eventLoopGroupProvider: .shared(executor.loop), configuration: configuration)
        self.limits = limits
    }

    /// Ends all connections, and whatever is still under way on them.
    public func close() async {
        try? await client.shutdown()
    }

    /// Brings the whole answer, or throws: a `FetchFailure`, or `CancellationError` as soon as the task is cancelled.
    ///
    /// The deadline is our own and covers everything: a body that drips a byte at a time ends with it, and before.
    public func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        guard OriginURL(request.url) != nil else {
            throw FetchFailure(.refused, "not an http or https URL", isRetryable: false)
        }
        let clocked = ClockedRequest(limits)
        let exchange = Task(executorPreference: executor) { try await self.exchange(request, clocked) }
        let number = deadlines.enter(clocked) { exchange.cancel() }
        defer { deadlines.leave(number) }
        do {
            return try await withTaskCancellationHandler {
                try await exchange.value
            } onCancel: {
                exchange.cancel()
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw clocked.verdict ?? TransportFailure.named(error, limits)
        }
    }

    private func exchange(_ request: HTTPPageRequest, _ clocked: ClockedRequest) async throws -> HTTPPageResponse {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for field in request.headers { outgoing.headers.add(name: field.name, value: field.value) }
        // Not "deflate": half of the world means another format by it.
        if !outgoing.headers.contains(name: "Accept-Encoding") {
            outgoing.headers.add(name: "Accept-Encoding", value: "gzip")
        }

        let response = try await client.execute(outgoing, timeout: AsyncHTTPTransport.amount(limits.requestTimeout))
        clocked.begin()
        var headers = response.headers.map { HTTPField($0.name, $0.value) }
        let announced = response.headers.first(name: "Content-Length").flatMap { Int($0) }
        if let refusal = AnswerTally.refusal(ofHeader: headers, announced: announced, limits) { throw refusal }
        // R45, and RFC 6265: nobody here keeps cookies.
        headers.removeAll { ["set-cookie", "set-cookie2"].contains($0.name.lowercased()) }
        let hasBody = request.method != "HEAD" && ![204, 304].contains(response.status.code)
        let encodings = response.headers[canonicalForm: "Content-Encoding"].map { $0.lowercased() }.filter {
            $0 != "identity"
        }
        if hasBody, !encodings.isEmpty, !(encodings.count == 1 && ["gzip", "deflate"].contains(encodings[0])) {
            throw FetchFailure(.undecodable, "the body is encoded in a way that was not asked for", isRetryable: false)
        }

        var body: [UInt8] = []
        let length =
            hasBody && encodings.isEmpty && !response.headers.contains(name: "Transfer-Encoding") ? announced : nil
        if let length { body.reserveCapacity(length) }
        for try await chunk in response.body {
            clocked.receive(chunk.readableBytes)
            guard body.count + chunk.readableBytes <= limits.decompressedBody else {
                throw FetchFailure.decompressedBodyTooLarge(limits)
            }
            body.append(contentsOf: chunk.readableBytesView)
        }
        try Task.checkCancellation()
        if let length, length != body.count { throw TransportFailure.cut }
        return HTTPPageResponse(status: Int(response.status.code), headers: headers, body: body)
    }

    private static func amount(_ duration: Duration) -> TimeAmount { .milliseconds(duration.bounded.wholeMilliseconds) }
}
#endif
