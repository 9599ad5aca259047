#if HTTP
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import PageModel

/// Stops an answer as soon as it is too large, inflates too much, or exceeds its announced length. Its handlers sit on
/// both sides of the decompressor of a connection.
///
/// ```
/// socket ▶ parser ▶ received side ▶ decompressor ▶ inflated side ▶ client
/// ```
///
/// State, used only on the connection's event loop: the tally of the present answer, the end of an answer, and whether
/// the connection is stopped. The end is held back until the bytes that arrived with it are parsed. The state ends with
/// the connection.
final class AnswerGuard {
    private let limits: HTTPLimits
    private var tally: AnswerTally
    private var end: HTTPClientResponsePart?
    private var isStopped = false

    private init(_ limits: HTTPLimits) {
        self.limits = limits
        tally = AnswerTally(limits)
    }

    /// Adds the handlers to a connection. Call this once for each connection, after the other handlers are in place.
    static func stand(in channel: any Channel, _ limits: HTTPLimits) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let answerGuard = AnswerGuard(limits)
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            let decompressor = try pipeline.handler(type: NIOHTTPResponseDecompressor.self)
            try pipeline.addHandler(ReceivedSide(answerGuard), position: .after(parser))
            try pipeline.addHandler(InflatedSide(answerGuard), position: .after(decompressor))
        }
    }

    private func stop(_ failure: FetchFailure, _ context: ChannelHandlerContext) {
        isStopped = true
        end = nil
        context.fireErrorCaught(failure)
        context.close(promise: nil)
    }

    /// Reads the parts of an answer as they were sent.
    private final class ReceivedSide: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias InboundOut = HTTPClientResponsePart

        private let shared: AnswerGuard

        init(_ shared: AnswerGuard) { self.shared = shared }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !shared.isStopped else { return }
            switch Self.unwrapInboundIn(data) {
            case .head:
                shared.tally = AnswerTally(shared.limits)
                context.fireChannelRead(data)
            case .body(let bytes):
                if let failure = shared.tally.receive(bytes.readableBytes) { return shared.stop(failure, context) }
                context.fireChannelRead(data)
            case .end:
                // The client may reuse the connection once it receives the end. The end is held back until the parser
                // has read the remaining bytes, so that excess bytes are noticed first.
                shared.end = Self.unwrapInboundIn(data)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard !shared.isStopped else { return }
            let isOfParser = error is HTTPParserError || error is NIOHTTPDecoderError
            guard shared.end != nil, isOfParser else {
                // A broken connection does not invalidate a complete answer before it.
                passEnd(context)
                return context.fireErrorCaught(error)
            }
            // Unrequested bytes follow the answer (RFC 9112, 6.3). The announced length may have been too small.
            shared.stop(FetchFailure(.transport, "the origin sent more than it announced", isRetryable: true), context)
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            passEnd(context)
            context.fireChannelReadComplete()
        }

        func channelInactive(context: ChannelHandlerContext) {
            passEnd(context)
            context.fireChannelInactive()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            passEnd(context)
            context.fireUserInboundEventTriggered(event)
        }

        private func passEnd(_ context: ChannelHandlerContext) {
            guard let end = shared.end else { return }
            shared.end = nil
            context.fireChannelRead(Self.wrapInboundOut(end))
        }
    }

    /// Reads the parts of an answer as the decompressor returns them.
    private final class InflatedSide: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let shared: AnswerGuard

        init(_ shared: AnswerGuard) { self.shared = shared }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !shared.isStopped else { return }
            if case .body(let bytes) = Self.unwrapInboundIn(data),
                let failure = shared.tally.inflate(bytes.readableBytes)
            {
                return shared.stop(failure, context)
            }
            context.fireChannelRead(data)
        }
    }
}
#endif
