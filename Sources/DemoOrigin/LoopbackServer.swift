#if Tool
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP/1.1 on a free port of the loopback interface, over swift-nio: requests without content, answers whose content is text.
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
            return Dictionary(pairs.map { ($0.prefix { $0 != "=" }, $0.drop { $0 != "=" }.dropFirst()) }) { first, _ in first }
        }
    }

    struct Answer: Sendable {
        var status = HTTPResponseStatus.ok
        var headers = HTTPHeaders()
        var content = ""
    }

    typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    private let listener: NIOAsyncChannel<Connection, Never>
    private let answer: @Sendable (Request) async -> Answer

    /// Listens from now on; `run` answers.
    init(answer: @escaping @Sendable (Request) async -> Answer) async throws {
        self.answer = answer
        listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    var port: Int { listener.channel.localAddress?.port ?? 0 }

    /// Answers until the task is cancelled; when it returns, the port is closed.
    func run() async throws {
        try await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections {
                    // That a client goes away in the middle of something is its own affair.
                    group.addTask { try? await serve(connection) }
                }
            }
        }
    }

    private func serve(_ connection: Connection) async throws {
        try await connection.executeThenClose { parts, outbound in
            var head: HTTPRequestHead?
            for try await part in parts {
                switch part {
                case .head(let next): head = next
                case .body: break
                case .end:
                    guard let asked = head else { return }
                    let request = Request(method: asked.method, target: asked.uri, headers: asked.headers)
                    try await write(await answer(request), to: asked, outbound)
                    guard asked.isKeepAlive else { return }
                }
            }
        }
    }

    private func write(
        _ answer: Answer, to asked: HTTPRequestHead, _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    ) async throws {
        var headers = answer.headers
        // RFC 9110, 8.6: none with 304, where it would have to be that of a 200; with HEAD, what a GET would have.
        if answer.status != .notModified { headers.replaceOrAdd(name: "Content-Length", value: String(answer.content.utf8.count)) }
        var parts = [HTTPServerResponsePart.head(.init(version: asked.version, status: answer.status, headers: headers))]
        // RFC 9110, 9.3.2: what a GET would have in its header, and no content.
        if asked.method != .HEAD, !answer.content.isEmpty { parts.append(.body(.byteBuffer(ByteBuffer(string: answer.content)))) }
        try await outbound.write(contentsOf: parts + [.end(nil)])
    }
}
#endif
