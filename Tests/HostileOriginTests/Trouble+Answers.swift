#if Tool
import HostileOrigin
import PageModel

/// Complete answers that are no valid page.
extension Trouble {
    /// Failures by status (R27).
    static let statuses: [Trouble] =
        [400, 402, 404, 405, 406, 409, 410, 411, 414, 416, 418, 421, 422, 426, 428, 431, 451, 499].map {
            Trouble("refuses with \($0)", [.rejected], status: $0, answer: .status($0))
        }
        + [500, 501, 502, 503, 504, 507, 520, 599].map {
            Trouble("fails with \($0)", [.server], status: $0, answer: .status($0))
        }
        + [401, 403].map { Trouble("forbids with \($0)", [.forbidden], status: $0, answer: .status($0)) } + [
            Trouble("answers 407", [.forbidden], status: 407, answer: .status(407)),
            Trouble("answers 408", [.timeout], status: 408, answer: .status(408)),
            Trouble("answers 425", [.throttled], status: 425, answer: .status(425)),
            Trouble("answers 429", [.throttled], status: 429, answer: .status(429)),
            Trouble("answers with an unknown status", [.rejected], status: 799, answer: .status(799)),
            Trouble(
                "answers 206 with a part of an unknown whole", [.undecodable], status: 206,
                answer: .json(GoodList.pageOne, status: 206)),
            Trouble("answers 304 to an unconditional request", [.limitExceeded], status: 304, answer: .status(304)),
            Trouble(
                "fails with a page that repeats every secret of the request", [.server], status: 500
            ) { _ in
                .answers {
                    RawAnswer(status: 500, [("Content-Type", "text/html")], body: Array("<pre>\($0.text)</pre>".utf8))
                }
            },
        ]

    static let bodies: [Trouble] = [
        Trouble(
            "answers with a login page", [.undecodable], status: 200, word: "HTML",
            answer: RawAnswer(
                [("Content-Type", "text/html")], body: Array("<!DOCTYPE html><title>Sign in</title>".utf8))),
        Trouble(
            "declares JSON and sends HTML", [.undecodable], status: 200, word: "HTML", answer: .json("\n <html></html>")
        ),
        Trouble("sends an empty body", [.undecodable], status: 200, word: "empty", answer: .json("")),
        Trouble(
            "sends JSON that breaks off within the stated length", [.undecodable], status: 200,
            answer: .json(String(GoodList.pageOne.dropLast(40)))),
        Trouble("sends two documents", [.undecodable], status: 200, answer: .json(GoodList.pageOne + GoodList.pageOne)),
        Trouble(
            "sends an error object with status 200", [.undecodable], status: 200,
            answer: .json(#"{"error":"try again later"}"#)),
        Trouble(
            "sends a number in the place of items", [.undecodable], status: 200,
            answer: .json(#"{"total":6,"items":7}"#)),
        Trouble("sends a single literal", [.undecodable], status: 200, answer: .json("true")),
        Trouble(
            "sends a NUL in a string (RFC 8259, 7)", [.undecodable], status: 200,
            answer: .json("{\"total\":6,\"items\":[{\"id\":\"a\0b\"}]}")),
        Trouble(
            "sends bytes that are not UTF-8 (RFC 8259, 8.1)", [.undecodable], status: 200,
            answer: RawAnswer(
                [("Content-Type", "application/json")],
                body: Array(#"{"total":6,"items":[{"id":"i"#.utf8) + [0xC3, 0x28, 0xFF] + Array(#""}]}"#.utf8))),
        Trouble(
            "sends UTF-32", [.undecodable], status: 200,
            answer: RawAnswer(
                [("Content-Type", "application/json; charset=utf-32")],
                body: [0xFF, 0xFE, 0, 0]
                    + GoodList.pageOne.unicodeScalars.flatMap { [UInt8($0.value & 0xFF), UInt8($0.value >> 8), 0, 0] })),
    ]
}
#endif
