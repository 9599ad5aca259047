#if Tool
import HostileOrigin
import PageModel

/// Failures on the wire: silence, and incomplete messages.
extension Trouble {
    private static let whole = Array(GoodList.pageOne.utf8)
    private static let half = Array(whole.prefix(whole.count / 2))
    private static let json = "Content-Type: application/json"

    private static func announcing(_ length: Int) -> Step {
        .head("HTTP/1.1 200 OK", json, "Content-Length: \(length)")
    }

    private static let longHead = Array("HTTP/1.1 200 OK\r\nX-Filler: \(String(repeating: "x", count: 60_000))".utf8)
    private static let chunked = Step.head("HTTP/1.1 200 OK", json, "Transfer-Encoding: chunked")

    /// Each of these ends with the deadline only.
    static let silences: [Trouble] = [
        Trouble("sends no byte", [.timeout], isEndless: true, steps: [.hang]),
        Trouble(
            "stops in the middle of its head", [.timeout], isEndless: true,
            steps: [.text("HTTP/1.1 200 OK\r\nContent-Ty"), .hang]),
        Trouble("sends a head and no body", [.timeout], isEndless: true, steps: [announcing(whole.count), .hang]),
        Trouble(
            "stops in the middle of its body", [.timeout], isEndless: true,
            steps: [announcing(whole.count), .bytes(half), .hang]),
        Trouble("stops between two chunks", [.timeout], isEndless: true, steps: [chunked, .chunk(half), .hang]),
        Trouble(
            "sends its head a byte at a time", [.timeout], isEndless: true,
            steps: [.drip(longHead, every: .milliseconds(20))]),
        Trouble(
            "sends its body a byte at a time", [.timeout], isEndless: true,
            steps: [announcing(60_000), .drip(Array(repeating: 0x20, count: 60_000), every: .milliseconds(20))]),
        Trouble(
            "sends chunks of one byte, slowly", [.timeout], isEndless: true,
            steps: [
                chunked,
                .drip(Array(repeatElement(Array("1\r\n \r\n".utf8), count: 10_000).joined()), every: .milliseconds(5)),
            ]),
        Trouble(
            "sends early hints and no answer", [.timeout, .transport], isEndless: true,
            steps: [
                .drip(
                    Array(repeatElement(Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8), count: 1_000).joined()),
                    every: .milliseconds(1)),
                .hang,
            ]),
    ]

    /// None of these counts as a complete answer, even where the received part is a valid page.
    static let brokenMessages: [Trouble] = [
        Trouble("closes the connection at once", [.transport], steps: [.close]),
        Trouble("resets the connection at once", [.transport], steps: [.reset]),
        Trouble("resets the connection after its head", [.transport], steps: [announcing(whole.count), .reset]),
        Trouble(
            "resets the connection in the middle of its body", [.transport],
            steps: [announcing(whole.count), .bytes(half), .reset]),
        Trouble(
            "closes the connection in the middle of its body", [.transport],
            steps: [announcing(whole.count), .bytes(half), .close]),
        Trouble(
            "announces more than it sends, and sends a whole document", [.transport],
            steps: [announcing(whole.count + 1), .bytes(whole), .close]),
        Trouble(
            "announces less than it sends", [.transport, .undecodable],
            steps: [announcing(half.count), .bytes(whole), .close]),
        Trouble(
            "closes the connection in the middle of a chunk", [.transport],
            steps: [chunked, .text("800\r\n"), .bytes(half), .close]),
        Trouble(
            "closes the connection where the last chunk should be", [.transport],
            steps: [chunked, .chunk(whole), .close]),
        Trouble(
            "resets the connection where the last chunk should be", [.transport],
            steps: [chunked, .chunk(whole), .reset]),
        Trouble(
            "states a chunk size in letters", [.transport], steps: [chunked, .text("zz\r\n"), .bytes(whole), .close]),
        Trouble(
            "states a chunk size beyond 64 bits", [.transport, .limitExceeded],
            steps: [chunked, .text("FFFFFFFFFFFFFFFFFF\r\n"), .bytes(whole), .close]),
        Trouble(
            "states two lengths that differ (RFC 9112, 6.3)", [.transport, .limitExceeded, .undecodable],
            steps: [
                .head("HTTP/1.1 200 OK", json, "Content-Length: \(whole.count)", "Content-Length: 10"), .bytes(whole),
                .close,
            ]),
        Trouble(
            "states a negative length", [.transport, .limitExceeded],
            steps: [.head("HTTP/1.1 200 OK", json, "Content-Length: -5"), .bytes(whole), .close]),
        Trouble("speaks another protocol", [.transport], steps: [.text("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), .close]),
        Trouble(
            "sends a status that is not a number", [.transport],
            steps: [.head("HTTP/1.1 OK 200"), .bytes(whole), .close]),
        Trouble("answers with zeroes", [.transport], steps: [.bytes(Array(repeating: 0, count: 4_096)), .close]),
    ]
}
#endif
