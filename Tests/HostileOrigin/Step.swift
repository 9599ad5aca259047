/// What a connection does next, in an answer.
public enum Step: Sendable {
    /// Sends these bytes, and goes on when the system has taken them.
    case bytes([UInt8])
    /// Sends a block so often. A body of a gigabyte costs the memory of one block: the next one waits until there is
    /// room.
    case repeated([UInt8], times: Int)
    /// Sends one byte, and another each time that so much time has passed.
    case drip([UInt8], every: Duration)
    /// Goes on when the gate is opened.
    case wait(Gate)
    /// Says nothing more, and stays, until the client goes.
    case hang
    /// Ends the connection as is usual (FIN). What was sent arrives.
    case close
    /// Breaks the connection off (RST). What was sent, and not read yet, is lost.
    case reset
}

extension Step {
    /// Sends a text in UTF-8.
    public static func text(_ text: String) -> Step { .bytes(Array(text.utf8)) }

    /// Lines of a head, each ended with CRLF, and the empty line behind them.
    public static func head(_ lines: String...) -> Step {
        .text(lines.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// Sends a chunk of a chunked body (RFC 9112, 7.1).
    public static func chunk(_ bytes: [UInt8]) -> Step { .bytes(framed(bytes)) }

    /// Sends a chunk of a chunked body.
    public static func chunk(_ text: String) -> Step { chunk(Array(text.utf8)) }

    /// Sends the same chunk so often.
    public static func chunks(_ bytes: [UInt8], times: Int) -> Step { .repeated(framed(bytes), times: times) }

    private static func framed(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    /// The chunk that ends a chunked body.
    public static let lastChunk = Step.text("0\r\n\r\n")
}
