import PageModel
import PagedRepositoryTesting
import Testing

@testable import PageStore

@Suite("Layout of a body")
struct BodyCodecTests {
    /// The format as it is described, and nothing cleverer.
    private static func plain(_ content: PageContent) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] {
            value < 128 ? [UInt8(value)] : [UInt8(value % 128) | 128] + number(value / 128)
        }
        return [1] + number(content.count)
            + content.items.flatMap { item in
                number(item.payload.count) + (item.id.map { number($0.utf8.count + 1) + Array($0.utf8) } ?? [0])
            }
    }

    private static let ids: [String?] = [
        nil, "", "1", "an id", "naïve 🦆", "\u{0}", String(repeating: "i", count: 126), String(repeating: "i", count: 127),
        String(repeating: "long ", count: 5_000),
    ]

    @Test("it is what the format says, and comes back as it was, whatever the sizes", arguments: 1..<40 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sizes = [0, 1, 127, 128, 16_383, 16_384]
        let items = (0..<Int.random(in: 0...200, using: &random)).map { _ in
            Item(
                payload: Array(repeating: 7, count: sizes.randomElement(using: &random)!), id: BodyCodecTests.ids.randomElement(using: &random)!)
        }
        let content = PageContent(items)
        let layout = BodyCodec.layout(of: content)
        #expect(layout == BodyCodecTests.plain(content))
        let back = layout.withUnsafeBytes { layout in
            content.bytes.withUnsafeBytes { BodyCodec.content(layout: layout, payload: $0) }
        }
        #expect(back == content)
    }

    @Test("a layout that does not fit its payload to the byte is no page: nobody looks again")
    func misfits() {
        func content(_ layout: [UInt8], _ payload: [UInt8]) -> PageContent? {
            layout.withUnsafeBytes { layout in payload.withUnsafeBytes { BodyCodec.content(layout: layout, payload: $0) } }
        }
        let largest: [UInt8] = Array(repeating: 0xff, count: 8) + [0x7f]
        let whole: [UInt8] = [1, 2, 2, 3, 105, 100, 1, 0]
        #expect(content(whole, [7, 8, 9])?.items == [Item(payload: [7, 8], id: "id"), Item(payload: [9])])
        #expect(content(whole, [7, 8]) == nil)
        #expect(content(whole, [7, 8, 9, 10]) == nil)
        #expect(content(whole + [0], [7, 8, 9]) == nil)
        // An id that ends a byte behind the layout, and one that ends nowhere.
        #expect(content([1, 1, 1, 4, 105, 100], [7]) == nil)
        #expect(content([1, 1, 1] + largest + [105, 100], [7]) == nil)
        // Lengths, each of which is a number, and whose sum is none.
        #expect(content([1, 2] + largest + [0] + largest + [0], [7]) == nil)
        #expect(content([1] + largest, [7]) == nil)
    }

    @Test("no cut of it is taken for a whole one")
    func cuts() {
        let content = PageContent(BodyCodecTests.ids.prefix(6).map { Item(payload: [1, 2, 3], id: $0) })
        let layout = BodyCodec.layout(of: content)
        for length in 0..<layout.count {
            let found = layout[..<length].withUnsafeBytes { layout in
                content.bytes.withUnsafeBytes { BodyCodec.content(layout: layout, payload: $0) }
            }
            #expect(found == nil)
        }
    }
}
