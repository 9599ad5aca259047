/// A step of an answer on a connection.
public enum Step: Sendable {
    /// Sends these bytes and continues when the system has accepted them.
    case bytes([UInt8])
    /// Sends a block repeatedly. A body of a gigabyte needs the memory of one block, because each block waits for space
    /// in the buffer.
    case repeated([UInt8], times: Int)
    /// Sends one byte per interval.
    case drip([UInt8], every: Duration)
    /// Continues when the gate is opened.
    case wait(Gate)
    /// Sends no more and keeps the connection open until the client closes it.
    case hang
    /// Closes the connection as usual (FIN). Sent bytes arrive.
    case close
    /// Resets the connection (RST). Bytes that the client has not read are lost.
    case reset
}

extension Step {
    /// Sends a text in UTF-8.
    public static func text(_ text: String) -> Step { .bytes(Array(text.utf8)) }

    /// Sends the lines of a head, each ended with CRLF, and an empty line.
    public static func head(_ lines: String...) -> Step {
        .text(lines.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// Sends a chunk of a chunked body (RFC 9112, 7.1).
    public static func chunk(_ bytes: [UInt8]) -> Step { .bytes(framed(bytes)) }

    /// Sends a text as a chunk of a chunked body.
    public static func chunk(_ text: String) -> Step { chunk(Array(text.utf8)) }

    /// Sends the same chunk repeatedly.
    public static func chunks(_ bytes: [UInt8], times: Int) -> Step { .repeated(framed(bytes), times: times) }

    private static func framed(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    /// The chunk that ends a chunked body.
    public static let lastChunk = Step.text("0\r\n\r\n")
}
