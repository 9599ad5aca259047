#if HTTP
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import PageModel

/// The real network, through AsyncHTTPClient. Close it when done: its connections are kept open between requests.
public final class AsyncHTTPTransport: HTTPTransport {
    private let client: HTTPClient
    private let limits: HTTPLimits

    public init(limits: HTTPLimits = HTTPLimits()) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .milliseconds(limits.connectTimeout.wholeMilliseconds)
        configuration.decompression = .enabled(limit: .size(limits.body))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = limits.connections
        // Retries are the ledger's business, and counted.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.limits = limits
    }

    public func close() async {
        try? await client.shutdown()
    }

    /// The deadline is our own and covers everything: a body that drips a byte at a time ends with it.
    public func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        do {
            return try await withThrowingTaskGroup(of: HTTPPageResponse?.self) { group in
                group.addTask { try await self.exchange(request) }
                group.addTask {
                    try await Task.sleep(for: self.limits.requestTimeout)
                    return nil
                }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let response = first else {
                    throw FetchFailure(.timeout, "no whole answer within \(limits.requestTimeout)", isRetryable: true)
                }
                return response
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw failure(error)
        }
    }

    private func exchange(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method)
        outgoing.headers.add(name: "Accept-Encoding", value: "gzip, deflate")
        for field in request.headers { outgoing.headers.add(name: field.name, value: field.value) }
        let response = try await client.execute(outgoing, timeout: .milliseconds(limits.requestTimeout.wholeMilliseconds))
        var body: [UInt8] = []
        if let announced = response.headers.first(name: "Content-Length").flatMap({ Int($0) }) {
            guard announced <= limits.body else { throw tooLarge }
            body.reserveCapacity(announced)
        }
        for try await chunk in response.body {
            guard body.count + chunk.readableBytes <= limits.body else { throw tooLarge }
            body.append(contentsOf: chunk.readableBytesView)
        }
        return HTTPPageResponse(
            status: Int(response.status.code), headers: response.headers.map { HTTPField($0.name, $0.value) }, body: body)
    }

    private var tooLarge: FetchFailure {
        FetchFailure(.hostile, "the body is larger than \(limits.body) bytes", isRetryable: false)
    }

    private func failure(_ error: any Error) -> FetchFailure {
        switch error {
        case let failure as FetchFailure:
            return failure
        case let error as HTTPClientError where error == .connectTimeout || error == .deadlineExceeded || error == .readTimeout:
            return FetchFailure(.timeout, "the origin did not answer in time", isRetryable: true)
        case let error as HTTPClientError where error == .invalidURL || error == .emptyHost || error == .emptyScheme:
            return FetchFailure(.refused, "the URL cannot be asked", isRetryable: false)
        case let error as NIOConnectionError:
            let reason = error.connectionErrors.first.map { short($0.error) } ?? "the host is not known"
            return FetchFailure(.transport, "cannot connect: \(reason)", isRetryable: true)
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            return FetchFailure(.transport, "cannot connect: connection refused", isRetryable: true)
        case is NIOHTTPDecompression.DecompressionError:
            return FetchFailure(.hostile, "the compressed body is damaged or larger than \(limits.body) bytes", isRetryable: false)
        default:
            return FetchFailure(.transport, short(error), isRetryable: true)
        }
    }

    /// One line without the names of types; such texts end up in the ledger and on terminals.
    private func short(_ error: any Error) -> String {
        if let error = error as? IOError {
            return error.errnoCode == ECONNREFUSED ? "connection refused" : String(cString: strerror(error.errnoCode))
        }
        if let error = error as? HTTPParserError { return "the answer is not HTTP (\(error))" }
        if error is ChannelError { return "the connection was closed" }
        if let error = error as? HTTPClientError { return error.shortDescription }
        return String("\(error)".prefix(200))
    }
}
#endif
