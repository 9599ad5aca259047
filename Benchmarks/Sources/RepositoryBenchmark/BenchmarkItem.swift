import Measuring
import PageModel
import PagedRepository

/// An item of a known size.
protocol BenchmarkItem: Codable, Sendable {
    /// How many bytes of JSON one takes.
    static var bytes: Int { get }
    var id: String { get }

    /// - Parameter filling: how many letters to add.
    init(number: Int, filling: Int)
}

extension BenchmarkItem {
    static var countPerPage: Int { 50 }

    /// A page of them as a store keeps it.
    static func page() throws -> PageContent {
        let codec = JSONItemCodec<Self>()
        var content = PageContent()
        for number in 0..<countPerPage {
            let bare = try codec.encode(Self(number: number, filling: 0)).count
            let value = Self(number: number, filling: max(0, bytes - bare))
            content.append(try codec.encode(value)[...], id: value.id)
        }
        try expect(content.bytes.count == bytes * countPerPage, "items of \(bytes) bytes")
        return content
    }
}

/// An item of a shop's API: a dozen fields, half of them text.
struct Product: BenchmarkItem {
    static let bytes = 500

    var id: String
    var title: String
    var maker: String
    var category: String
    var price: Double
    var stock: Int
    var rating: Double
    var isAvailable: Bool
    var updatedAt: Int
    var tags: [String]
    var text: String

    init(number: Int, filling: Int) {
        id = "product-\(100_000 + number)"
        title = "Product number \(number)"
        maker = "Maker \(number % 7)"
        category = "garden"
        price = Double(number) + 0.5
        stock = number * 3
        rating = 4.5
        isAvailable = number % 5 != 0
        updatedAt = 1_800_000_000 + number
        tags = ["new", "sale"]
        text = String(repeating: "x", count: filling)
    }
}

/// A line of a long list: little more than a name.
struct Label: BenchmarkItem {
    static let bytes = 100

    var id: String
    var name: String
    var price: Double
    var isNew: Bool

    init(number: Int, filling: Int) {
        id = "label-\(100_000 + number)"
        name = String(repeating: "x", count: filling)
        price = Double(number) + 0.5
        isNew = number % 5 == 0
    }
}
