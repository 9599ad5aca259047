import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@Suite("Decoding of a page")
struct PageCodecTests {
    private struct Numbered: Codable, Hashable, Sendable { var id: Int }

    private func page(_ payloads: [String]) -> PageContent {
        PageContent(payloads.map { RawItem(payload: Array($0.utf8)) })
    }

    @Test("Decoding a page at once gives the same values as decoding each item", arguments: [2, 3, 50])
    func same(count: Int) throws {
        let codec = JSONItemCodec<Numbered>()
        let content = page((0..<count).map { #" {"more":[1,{"x":"]},{"}], "id":\#($0)}"# })
        let values = try #require(codec.values(of: content))
        #expect(values == (try (0..<count).map { try codec.decode(content.payload(at: $0)) }))
        #expect(values.map(\.id) == Array(0..<count))
    }

    @Test(
        "A page with a payload that is not one value of the item's type is not decoded at once (R7)",
        arguments: [
            ["{\"id\":1}", "{"], ["{\"id\":1}", ""], ["{\"id\":1},{\"id\":2}", "{\"id\":3}"],
            ["{\"id\":1}", "{\"id\":\"one\"}"],
            ["{\"id\":1}", "null"], ["{\"id\":1}]", "[{\"id\":2}"],
        ])
    func broken(payloads: [String]) {
        #expect(JSONItemCodec<Numbered>().values(of: page(payloads)) == nil)
    }

    @Test("A codec without page decoding decodes item by item")
    func others() {
        #expect(RawItemCodec().values(of: page(["a", "b"])) == nil)
    }

    /// Counts the decoded items, and decodes whole pages only if `givesPages` is true.
    private final class Asked: ItemCodec {
        let name = "asked/1"
        let codec = JSONItemCodec<Row>()
        let single = Mutex(0)
        let givesPages: Bool
        init(givesPages: Bool) { self.givesPages = givesPages }
        func encode(_ value: Row) throws -> [UInt8] { try codec.encode(value) }
        func decode(_ bytes: ArraySlice<UInt8>) throws -> Row {
            single.withLock { $0 += 1 }
            return try codec.decode(bytes)
        }
        func values(of page: PageContent) -> [Row]? { givesPages ? codec.values(of: page) : nil }
    }

    @Test("A list decodes whole pages at once, and single items where the codec does not", arguments: [true, false])
    func asked(givesPages: Bool) async throws {
        let codec = Asked(givesPages: givesPages)
        let origin = StagedOrigin()
        let repository = ListRepository(
            storage: MemoryStorage(), codec: codec, clock: ManualClock(), jitter: { 0.5 }, source: { _ in origin })
        let list = repository.list("rows")
        try await list.load()
        #expect(list.current.items.map(\.number) == Array(0..<10))
        #expect(codec.single.withLock { $0 } == (givesPages ? 0 : 10))
    }
}
