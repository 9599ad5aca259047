#if Tool
import HostileOrigin

/// The list of a well-behaved origin: six items in two pages, linked by a URL in the body.
enum GoodList {
    /// Returns an item with text that a careless parser would change: numbers, escapes, non-ASCII characters (R7).
    static func item(_ number: Int) -> String {
        #"{"id":"i\#(number)","price":1.50e0,"text":"größer \u0000 \ud83d\ude00 \/ \u001b[2J"}"#
    }

    static func items(_ range: ClosedRange<Int>) -> String { range.map(item).joined(separator: ",") }

    static func payloads(_ range: ClosedRange<Int>) -> [[UInt8]] { range.map { Array(item($0).utf8) } }

    /// Returns a page as text.
    /// - Parameters:
    ///   - next: The next URL as JSON.
    ///   - total: The total as JSON.
    static func page(_ range: ClosedRange<Int>, next: String = "null", total: String = "6") -> String {
        #"{"total":\#(total),"items":[\#(items(range))],"next":\#(next)}"#
    }

    static let pageOne = page(1...3, next: #""/list?after=3""#)

    static let behaviour = Behaviour.answers { request in
        .json(request.parameter("after") == nil ? pageOne : page(4...6))
    }

    static let all = payloads(1...6)
}
#endif
