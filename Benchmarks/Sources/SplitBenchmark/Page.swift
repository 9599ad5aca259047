import Foundation
import Measuring

/// A page as an origin sends it: an envelope around items of a known size, half of them numbers and short words, the
/// rest text with an escape and a few letters beyond ASCII.
struct Page {
    var name: String
    var body: [UInt8]
    var count: Int
    /// The largest allowed time of splitting, in microseconds.
    var limit: Double?

    /// - Parameters:
    ///   - bytes: of one item; exactly so many.
    ///   - hasIDLast: whether the id stands after everything else. Then an item has to be stepped through to find it.
    init(_ name: String, items count: Int, bytes: Int, limit: Double? = nil, hasIDLast: Bool = false) throws {
        self.name = name
        self.count = count
        self.limit = limit
        let items = try (0..<count).map { number in
            let bare = Page.item(number, text: "", hasIDLast).utf8.count
            guard bare <= bytes else { throw Unexpected("an item of \(bytes) bytes has no room for its \(bare)") }
            let words = String(repeating: "words, and more of them; ", count: (bytes - bare) / 25 + 1)
            return Page.item(number, text: String(words.prefix(bytes - bare)), hasIDLast)
        }
        body = Array(
            #"{"total":\#(count * 20),"items":[\#(items.joined(separator: ","))],"next":"/items?page=2"}"#.utf8)
    }

    private static func item(_ number: Int, text: String, _ hasIDLast: Bool) -> String {
        let id = #""id":"product-\#(100_000 + number)""#
        let rest =
            #""price":\#(number).5,"stock":\#(number * 3),"isNew":\#(number % 5 == 0),"tags":["new","sale"],"#
            + #""size":{"w":1,"h":2.5},"maker":"Möbel \"\#(number % 7)\"","text":"\#(text)""#
        return hasIDLast ? "{\(rest),\(id)}" : "{\(id),\(rest)}"
    }
}

/// The item as a program would decode it.
struct Product: Codable {
    struct Size: Codable {
        var w: Double
        var h: Double
    }

    var id: String
    var price: Double
    var stock: Int
    var isNew: Bool
    var tags: [String]
    var size: Size
    var maker: String
    var text: String
}

/// The envelope around them.
struct Answer: Codable {
    var total: Int
    var items: [Product]
    var next: String?
}
