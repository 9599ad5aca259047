import PageModel
import PagedRepositoryTesting
import Testing

@testable import PageStore

@Suite("The layout of a body")
struct BodyCodecTests {
    /// An independent encoder that follows the documented format byte for byte.
    private static func plain(_ content: PageContent) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] {
            value < 128 ? [UInt8(value)] : [UInt8(value % 128) | 128] + number(value / 128)
        }
        func id(_ text: String, _ type: IDType) -> [UInt8] {
            number(text.utf8.count * 2 + (type == .number ? 2 : 1)) + Array(text.utf8)
        }
        return [3] + number(content.count)
            + content.items.flatMap { item in
                number(item.payload.count) + (item.id.map { id($0, item.idType) } ?? [0])
            }
    }

    private static let ids: [String?] = [
        nil, "", "1", "an id", "naïve 🦆", "\u{0}", String(repeating: "i", count: 126),
        String(repeating: "i", count: 127), String(repeating: "i", count: 62), String(repeating: "i", count: 63),
        String(repeating: "long ", count: 5_000),
    ]

    @Test(
        "A body's layout follows the format and decodes to the same content, whatever the sizes",
        arguments: 1..<40 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sizes = [0, 1, 127, 128, 16_383, 16_384]
        let items = (0..<Int.random(in: 0...200, using: &random)).map { _ in
            RawItem(
                payload: Array(repeating: 7, count: sizes.randomElement(using: &random)!),
                id: BodyCodecTests.ids.randomElement(using: &random)!,
                idType: Bool.random(using: &random) ? .number : .string)
        }
        let content = PageContent(items)
        let layout = BodyCodec.layout(of: content)
        #expect(layout == BodyCodecTests.plain(content))
        let checksum = BodyCodec.checksum(layout: layout, content.identities)
        #expect(BodyCodecTests.read(layout, content.bytes, checksum) == content)
        #expect(BodyCodecTests.read(layout, content.bytes, checksum ^ 1) == nil)
    }

    private static func read(_ layout: [UInt8], _ payload: [UInt8], _ checksum: UInt64) -> PageContent? {
        layout.withUnsafeBytes { layout in
            payload.withUnsafeBytes { BodyCodec.content(layout: layout, payload: $0, checksum: checksum) }
        }
    }

    /// Decodes a layout for a payload of this many bytes. Each item is a pair: the length of its payload and of its id.
    /// -1 means no id.
    private static func lengths(_ layout: [UInt8], _ payload: Int) -> [[Int]]? {
        let places = layout.withUnsafeBytes { BodyCodec.places(in: $0, payload: payload) }
        return places.map { places in zip([0] + places.map(\.end), places).map { [$1.end - $0, $1.idCount] } }
    }

    @Test("A checksum does not match when a byte of a payload, a length or an id differs")
    func differences() {
        let content = PageContent([
            RawItem(payload: [7, 8], id: "id"), RawItem(payload: [9, 10, 11]), RawItem(payload: [], id: ""),
        ])
        let layout = BodyCodec.layout(of: content)
        let checksum = BodyCodec.checksum(layout: layout, content.identities)
        for index in content.bytes.indices {
            var payload = content.bytes
            payload[index] ^= 0x10
            #expect(BodyCodecTests.read(layout, payload, checksum) == nil)
        }
        for index in layout.indices {
            var layout = layout
            layout[index] ^= 0x01
            #expect(BodyCodecTests.read(layout, content.bytes, checksum) == nil)
        }
        // These lists have the same bytes and the same letters as the original, divided differently among the items.
        let others = [
            [RawItem(payload: [7], id: "id"), RawItem(payload: [8, 9, 10, 11]), RawItem(payload: [], id: "")],
            [RawItem(payload: [7, 8], id: "i"), RawItem(payload: [9, 10, 11]), RawItem(payload: [], id: "d")],
            [RawItem(payload: [7, 8], id: "id"), RawItem(payload: [9, 10, 11], id: ""), RawItem(payload: [])],
        ]
        for items in others {
            let other = PageContent(items)
            #expect(BodyCodecTests.read(BodyCodec.layout(of: other), other.bytes, checksum) == nil)
        }
    }

    @Test("A layout that does not fit its payload to the byte is rejected, because no later check catches it")
    func misfits() {
        let lengths = BodyCodecTests.lengths
        let largest: [UInt8] = Array(repeating: 0xff, count: 8) + [0x7f]
        let whole: [UInt8] = [3, 2, 2, 5, 105, 100, 1, 0]
        #expect(lengths(whole, 3) == [[2, 2], [1, -1]])
        #expect(lengths(whole, 2) == nil)
        #expect(lengths(whole, 4) == nil)
        #expect(lengths(whole + [0], 3) == nil)
        #expect(lengths([2] + whole.dropFirst(), 3) == nil)
        // The first id ends one byte beyond the layout. The length of the second id is the largest number.
        #expect(lengths([3, 1, 1, 7, 105, 100], 1) == nil)
        #expect(lengths([3, 1, 1] + largest + [105, 100], 1) == nil)
        // Each length is a valid number, but their sum overflows.
        #expect(lengths([3, 2] + largest + [0] + largest + [0], 1) == nil)
        #expect(lengths([3] + largest, 1) == nil)
    }

    @Test("A truncated layout is never decoded as a whole one")
    func cuts() {
        let content = PageContent(BodyCodecTests.ids.prefix(6).map { RawItem(payload: [1, 2, 3], id: $0) })
        let layout = BodyCodec.layout(of: content)
        for length in 0..<layout.count {
            #expect(BodyCodecTests.lengths(Array(layout[..<length]), content.bytes.count) == nil)
        }
    }
}
