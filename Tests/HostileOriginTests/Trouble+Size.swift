#if Tool
import HostileOrigin
import PageModel

/// Answers that are too large, or would be after decompression (R43). The failure is permanent and names the limit.
extension Trouble {
    private static let json = "Content-Type: application/json"
    private static let filler = [UInt8](repeating: 0x20, count: 16 << 10)

    private static func gzipped(_ bytes: [UInt8]) -> [Step] {
        [.head("HTTP/1.1 200 OK", json, "Content-Encoding: gzip", "Content-Length: \(bytes.count)"), .bytes(bytes)]
    }

    private static let bomb = Gzip.bomb(megabytes: 1_024)
    /// A valid page with trailing spaces, so that a truncation would not damage the page itself.
    private static let padded = Gzip.stored(Array(GoodList.pageOne.utf8) + filler)

    static let oversized: [Trouble] = [
        Trouble(
            "announces ten gigabytes", [.limitExceeded], word: "262144", needsLowLimits: true,
            steps: [.head("HTTP/1.1 200 OK", json, "Content-Length: 10000000000"), .text("["), .hang]),
        Trouble(
            "sends chunks forever", [.limitExceeded], word: "262144", needsLowLimits: true,
            steps: [
                .head("HTTP/1.1 200 OK", json, "Transfer-Encoding: chunked"),
                .chunks(filler, times: 65_536), .hang,
            ]),
        Trouble(
            "sends a body without a length forever", [.limitExceeded], word: "262144", needsLowLimits: true,
            steps: [.head("HTTP/1.1 200 OK", json, "Connection: close"), .repeated(filler, times: 65_536), .hang]),
        Trouble(
            "sends header fields forever", [.limitExceeded], word: "header",
            steps: [
                .text("HTTP/1.1 200 OK\r\n"),
                .repeated(Array("X-Filler: \(String(repeating: "x", count: 4_096))\r\n".utf8), times: 65_536), .hang,
            ]),
        Trouble(
            "compresses a gigabyte into a megabyte", [.limitExceeded], word: "524288", needsLowLimits: true,
            steps: [
                .head("HTTP/1.1 200 OK", json, "Content-Encoding: gzip", "Transfer-Encoding: chunked"),
                .chunk(bomb.start),
                .chunks(bomb.block, times: bomb.times), .hang,
            ]),
        Trouble("declares gzip and sends plain bytes", [.undecodable], steps: gzipped(Array(GoodList.pageOne.utf8))),
        Trouble(
            "breaks off in the compressed bytes, after a whole document", [.transport],
            steps: gzipped(Array(padded.prefix(padded.count - 6_000)))),
        Trouble(
            "uses a compression that was not requested", [.undecodable],
            steps: [
                .head("HTTP/1.1 200 OK", json, "Content-Encoding: br", "Content-Length: 4"),
                .bytes([0x1B, 0x03, 0x00, 0xF8]),
            ]),
        Trouble(
            "sends a page of a hundred thousand items", [.limitExceeded], word: "100", needsLowLimits: true,
            answer: .json(#"{"total":6,"items":[\#(Array(repeating: "1", count: 100_000).joined(separator: ","))]}"#)),
        Trouble(
            "sends an item that is too large", [.limitExceeded], word: "4096", needsLowLimits: true,
            answer: .json(#"{"total":6,"items":[{"id":"i1","text":"\#(String(repeating: "x", count: 5_000))"}]}"#)),
        Trouble(
            "nests 200,000 arrays", [.limitExceeded], word: "64",
            answer: RawAnswer(
                [("Content-Type", "application/json")], body: Array(repeating: UInt8(ascii: "["), count: 200_000))),
        Trouble(
            "nests 40,000 objects around a valid list", [.limitExceeded], word: "64",
            answer: .json(
                String(repeating: #"{"a":"#, count: 40_000) + GoodList.pageOne + String(repeating: "}", count: 40_000))),
    ]
}
#endif
