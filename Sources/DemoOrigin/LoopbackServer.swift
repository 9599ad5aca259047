#if Tool
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// HTTP/1.1 on a free port of the loopback interface, over swift-nio: requests without content, answers whose content
/// is text.
struct LoopbackServer: Sendable {
    struct Request: Sendable {
        let method: HTTPMethod
        /// Path and query, as they were sent.
        let target: String
        let headers: HTTPHeaders

        var path: Substring { target.prefix { $0 != "?" } }
        /// The query's parameters, as they were sent: nothing is decoded. Of several with a name the first counts.
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

    /// Listens from now on, and answers.
    init(answer: @escaping @Sendable (Request) async -> Answer) async throws {
        let connections = Connections()
        self.connections = connections
        listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                connections.came(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Exchange(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    /// Ends all connections; when it returns, the port is closed. What is being answered is not heard any more.
    func close() async {
        try? await listener.close()
        for channel in connections.close() { try? await channel.close() }
    }
}

/// The connections that are open. swift-nio's asynchronous channels would know them as well, and end the process when
/// one comes in while they are being cancelled.
///
/// State: the channels, and whether it is over, under a mutex.
private final class Connections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// Nobody stays who comes too late.
    func came(_ channel: any Channel) {
        let isOver = state.withLock { state in
            if !state.isOver { state.open[ObjectIdentifier(channel)] = channel }
            return state.isOver
        }
        guard !isOver else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.open[ObjectIdentifier(channel)] = nil } }
    }

    /// Those that are open; from now on, there are none.
    func close() -> [any Channel] {
        state.withLock { state in
            state.isOver = true
            defer { state.open = [:] }
            return Array(state.open.values)
        }
    }
}

/// The requests of one connection, one after the other (`HTTPServerPipelineHandler` sees to that).
private final class Exchange: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let answer: @Sendable (LoopbackServer.Request) async -> LoopbackServer.Answer
    // The connection's event loop alone looks at it.
    private var head: HTTPRequestHead?

    init(_ answer: @escaping @Sendable (LoopbackServer.Request) async -> LoopbackServer.Answer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let next): head = next
        case .body: break
        case .end:
            guard let asked = head else { return }
            head = nil
            // That a client goes away in the middle of something is its own affair.
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
        // RFC 9110, 8.6: none with 304, where it would have to be that of a 200; with HEAD, what a GET would have.
        if answer.status != .notModified {
            headers.replaceOrAdd(name: "Content-Length", value: String(answer.content.utf8.count))
        }
        if !asked.isKeepAlive { headers.replaceOrAdd(name: "Connection", value: "close") }
        channel.write(
            HTTPServerResponsePart.head(.init(version: asked.version, status: answer.status, headers: headers)),
            promise: nil)
        // RFC 9110, 9.3.2: what a GET would have in its header, and no content.
        if asked.method != .HEAD, !answer.content.isEmpty {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: answer.content))), promise: nil)
        }
        try await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        if !asked.isKeepAlive { try await channel.close() }
    }
}
#endif
