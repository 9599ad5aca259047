#if Tool
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP/1.1 server on a free port of the loopback interface, over swift-nio. The content of requests is ignored, and
/// the content of answers is text.
struct LoopbackServer: Sendable {
    struct Request: Sendable {
        let method: HTTPMethod
        /// Path and query, as they were sent.
        let target: String
        let headers: HTTPHeaders

        var path: Substring { target.prefix { $0 != "?" } }
        /// The parameters of the query, as they were sent, without decoding. For a repeated name, the first value
        /// counts.
        var parameters: [Substring: Substring] {
            let pairs = target.dropFirst(path.count + 1).split(separator: "&")
            return Dictionary(pairs.map { ($0.prefix { $0 != "=" }, $0.drop { $0 != "=" }.dropFirst()) }) { first, _ in
                first
            }
        }
    }

    struct Answer: Sendable {
        var status = HTTPResponseStatus.ok
        var headers = HTTPHeaders()
        var content = ""
    }

    private let connections: Connections
    private let listener: any Channel

    /// Starts listening and answering.
    init(answer: @escaping @Sendable (Request) async -> Answer) async throws {
        let connections = Connections()
        self.connections = connections
        listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Exchange(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    /// Closes the port and all connections. Discards answers in progress.
    func close() async {
        try? await listener.close()
        for channel in connections.close() { try? await channel.close() }
    }
}

/// The open connections. The asynchronous channels of swift-nio would track them as well, but crash the process when a
/// connection arrives while these channels are being cancelled.
///
/// State: the channels, and whether the server is closed, guarded by a mutex.
private final class Connections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// Adds a connection, or closes it at once if the server is closed.
    func add(_ channel: any Channel) {
        let isOver = state.withLock { state in
            if !state.isOver { state.open[ObjectIdentifier(channel)] = channel }
            return state.isOver
        }
        guard !isOver else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.open[ObjectIdentifier(channel)] = nil } }
    }

    /// Returns the open connections. From now on, new connections are closed at once.
    func close() -> [any Channel] {
        state.withLock { state in
            state.isOver = true
            defer { state.open = [:] }
            return Array(state.open.values)
        }
    }
}

/// Handles the requests of one connection, one after the other (`HTTPServerPipelineHandler` ensures the order).
private final class Exchange: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let answer: @Sendable (LoopbackServer.Request) async -> LoopbackServer.Answer
    // Only the connection's event loop accesses this property.
    private var head: HTTPRequestHead?

    init(_ answer: @escaping @Sendable (LoopbackServer.Request) async -> LoopbackServer.Answer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let next): head = next
        case .body: break
        case .end:
            guard let asked = head else { return }
            head = nil
            // A failed write is ignored, for example after the client closed the connection.
            Task { [answer, channel = context.channel] in
                let request = LoopbackServer.Request(method: asked.method, target: asked.uri, headers: asked.headers)
                try? await Exchange.write(await answer(request), to: asked, channel)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private static func write(_ answer: LoopbackServer.Answer, to asked: HTTPRequestHead, _ channel: any Channel)
        async throws
    {
        var headers = answer.headers
        // RFC 9110, 8.6: a `Content-Length` in a 304 would have to be that of the 200, so it is left out. The answer to
        // HEAD has the length that GET would have.
        if answer.status != .notModified {
            headers.replaceOrAdd(name: "Content-Length", value: String(answer.content.utf8.count))
        }
        if !asked.isKeepAlive { headers.replaceOrAdd(name: "Connection", value: "close") }
        channel.write(
            HTTPServerResponsePart.head(.init(version: asked.version, status: answer.status, headers: headers)),
            promise: nil)
        // RFC 9110, 9.3.2: an answer to HEAD has the header fields of GET, and no content.
        if asked.method != .HEAD, !answer.content.isEmpty {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: answer.content))), promise: nil)
        }
        try await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        if !asked.isKeepAlive { try await channel.close() }
    }
}
#endif
