#if HTTP
import NIOCore

/// Takes requests out of what a client sends, one behind the other.
///
/// Belongs to its connection's event loop.
final class RequestReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Nothing that a client of these tests sends is longer.
    private static let longestHead = 1 << 20

    private var received: [UInt8] = []
    private let requests: AsyncStream<HostileRequest>.Continuation

    init(_ requests: AsyncStream<HostileRequest>.Continuation) { self.requests = requests }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        while let end = endOfHead {
            if let request = HostileRequest(head: String(decoding: received[..<end], as: UTF8.self)) {
                requests.yield(request)
            }
            received.removeFirst(end)
        }
        if received.count > RequestReader.longestHead { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        requests.finish()
        context.fireChannelInactive()
    }

    /// A client that breaks the connection off is nothing to speak of here.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Behind the empty line; nil while it has not come.
    private var endOfHead: Int? {
        guard received.count >= 4 else { return nil }
        return (4...received.count).first { received[$0 - 4..<$0].elementsEqual([13, 10, 13, 10]) }
    }
}
#endif
