#if HTTP
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import PageModel

/// Stands in a connection on both sides of its decompressor, and stops an answer as soon as it is too large, inflates
/// too much, or turns out to be more than it announced.
///
/// ```
/// socket ▶ parser ▶ received side ▶ decompressor ▶ inflated side ▶ client
/// ```
///
/// State, all of it touched on the connection's event loop only: the tally of the answer that is coming; the end of an
/// answer, held back until the bytes that came with it are parsed; whether this connection is done for. They go with
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

    /// To be called once for each connection, when its own handlers are in place.
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

    /// Sees the parts of an answer as they were sent.
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
                // Whoever hears of the end may take the body for whole, and use the connection for the next request.
                // First it is seen whether more has come than was announced: the parser tells in the same breath.
                shared.end = Self.unwrapInboundIn(data)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard !shared.isStopped else { return }
            let isOfParser = error is HTTPParserError || error is NIOHTTPDecoderError
            guard shared.end != nil, isOfParser else {
                // A connection that breaks behind a whole answer takes nothing from it.
                passEnd(context)
                return context.fireErrorCaught(error)
            }
            // RFC 9112, 6.3: bytes behind an answer that nobody asked for. What was announced may have been too little.
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

    /// Sees the parts of an answer as they come out of the decompressor.
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
