#if HTTP
import NIOCore

/// Parses the requests in the bytes of a client, one after the other.
///
/// A reader belongs to the event loop of its connection.
final class RequestReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The longest accepted head. Clients of these tests send shorter ones.
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

    /// Closes the connection. A reset by the client is not a failure in these tests.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// The index after the empty line. `nil` means that the line has not arrived.
    private var endOfHead: Int? {
        guard received.count >= 4 else { return nil }
        return (4...received.count).first { received[$0 - 4..<$0].elementsEqual([13, 10, 13, 10]) }
    }
}
#endif
