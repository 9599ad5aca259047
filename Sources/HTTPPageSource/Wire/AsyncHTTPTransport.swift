#if HTTP
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOSSL
import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transport over the network, through AsyncHTTPClient. It keeps connections open between requests. Close it after
/// use; a transport that was not closed closes its connections when it is deallocated.
///
/// The transport speaks HTTP/1.1 to http and https origins only. It follows no redirects, accepts no cookies, and sends
/// no headers beyond the request's own and those of HTTP. Tracing is off, because spans would record whole URLs (R45).
/// One request is one attempt: the ledger decides about retries and counts them (R26).
///
/// A body is complete, or the request fails. A connection that ends too soon, or an answer longer than announced, fails
/// with class `transport`. An answer past a limit of size fails with class `limitExceeded`, and one past a limit of
/// time with class `timeout` (R43; see `HTTPLimits`).
public final class AsyncHTTPTransport: HTTPTransport {
    private let client: HTTPClient
    /// Clients whose requests go through a proxy, by the scheme of the URL.
    private let proxied: [String: HTTPClient]
    private let network: HTTPNetwork
    private let limits: HTTPLimits
    private let executor = EventLoopExecutor()
    private let deadlines = RequestDeadlines()

    /// Makes a transport with its own connections. One thread serves all of them, and decrypts and decompresses at the
    /// rate of one processor. Use several transports for more: all transports of a process share at most four threads.
    /// - Parameters:
    ///   - limits: the limits of size and time (R43). Defaults to `HTTPLimits()`.
    ///   - network: proxies and trusted certificates. Defaults to direct connections and the system's authorities.
    public init(limits: HTTPLimits = HTTPLimits(), network: HTTPNetwork = HTTPNetwork()) {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = AsyncHTTPTransport.amount(limits.connectTimeout)
        configuration.decompression = .enabled(limit: .size(max(limits.decompressedBody, 0)))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(limits.connections, 1)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tracing.tracer = nil
        configuration.http1_1ConnectionDebugInitializer = { AnswerGuard.stand(in: $0, limits) }
        if let file = network.certificates {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(file)
            configuration.tlsConfiguration = tls
        }
        let loop = executor.loop
        client = HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: configuration)
        var proxied: [String: HTTPClient] = [:]
        if let proxy = network.httpsProxy {
            var tunnelled = configuration
            tunnelled.proxy = .server(
                host: proxy.host, port: proxy.port,
                authorization: proxy.userInfo.map { .basic(credentials: Data($0.utf8).base64EncodedString()) })
            proxied["https"] = HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: tunnelled)
        }
        if network.httpProxy != nil {
            var whole = configuration
            whole.http1_1ConnectionDebugInitializer = { channel in
                AnswerGuard.stand(in: channel, limits).flatMap { AbsoluteForm.stand(in: channel) }
            }
            proxied["http"] = HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: whole)
        }
        self.proxied = proxied
        self.network = network
        self.limits = limits
    }

    deinit {
        // A client that ends without a shutdown traps in debug builds. After `close` the shutdown has no effect.
        let clients = [client] + proxied.values
        Task { for client in clients { try? await client.shutdown() } }
    }

    /// Closes all connections, and ends the requests on them.
    public func close() async {
        for client in [client] + proxied.values { try? await client.shutdown() }
    }

    /// Returns the complete answer.
    ///
    /// The deadline covers the whole request. A body that drips a byte at a time ends at the deadline, or earlier when
    /// its throughput is too low.
    /// - Throws: `FetchFailure`, or `CancellationError` as soon as the task is cancelled.
    public func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        guard let url = OriginURL(request.url) else {
            let reason = OriginURL.refusal(of: request.url) ?? "not an http or https URL"
            throw FetchFailure(.rejected, reason, isRetryable: false)
        }
        let clocked = ClockedRequest(limits)
        let exchange = Task(executorPreference: executor) { try await self.exchange(request, url, clocked) }
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
            let failure = clocked.failure ?? TransportFailure.named(error, limits)
            throw network.proxy(for: url).map { TransportFailure.behind($0, failure) } ?? failure
        }
    }

    private func exchange(
        _ request: HTTPPageRequest, _ url: OriginURL, _ clocked: ClockedRequest
    ) async throws -> HTTPPageResponse {
        var outgoing = HTTPClientRequest(url: request.url)
        var client = client
        if let proxy = network.proxy(for: url), let other = proxied[url.scheme] {
            client = other
            if url.scheme == "http" {
                // The request goes to the proxy, and names the origin: see `AbsoluteForm`.
                outgoing = HTTPClientRequest(url: url.moved(toHost: proxy.host, port: proxy.port).text)
                outgoing.headers.add(name: "Host", value: url.hasUsualPort ? url.host : "\(url.host):\(url.port)")
                if let proof = proxy.authorization { outgoing.headers.add(name: "Proxy-Authorization", value: proof) }
            }
        }
        outgoing.method = HTTPMethod(rawValue: request.method)
        if let body = request.body { outgoing.body = .bytes(body) }
        for field in request.headers { outgoing.headers.add(name: field.name, value: field.value) }
        // `deflate` is left out: many servers mean another format by it.
        if !outgoing.headers.contains(name: "Accept-Encoding") {
            outgoing.headers.add(name: "Accept-Encoding", value: "gzip")
        }

        let response = try await client.execute(outgoing, timeout: AsyncHTTPTransport.amount(limits.requestTimeout))
        clocked.begin()
        var headers = response.headers.map { HTTPField($0.name, $0.value) }
        let announced = response.headers.first(name: "Content-Length").flatMap { Int($0) }
        if let refusal = AnswerTally.refusal(ofHeader: headers, announced: announced, limits) { throw refusal }
        // Cookies are never kept (R45, RFC 6265).
        headers.removeAll { ["set-cookie", "set-cookie2"].contains($0.name.lowercased()) }
        let hasBody = request.method != "HEAD" && ![204, 304].contains(response.status.code)
        let encodings = response.headers[canonicalForm: "Content-Encoding"].map { $0.lowercased() }.filter {
            $0 != "identity"
        }
        if hasBody, !encodings.isEmpty, !(encodings.count == 1 && ["gzip", "deflate"].contains(encodings[0])) {
            throw FetchFailure(.undecodable, "the body has an unsupported Content-Encoding", isRetryable: false)
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
