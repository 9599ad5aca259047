#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Detection: lists under names that usually stand beside the items")
struct SideListTests {
    private func payloads(_ url: String, _ body: String) async throws -> [String] {
        let page = try await scripted(url, ScriptedOrigin { _, _ in .json(body) }).first()
        return page.content.items.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    @Test(
        "The list that the URL names is the list, beside plain values as well",
        arguments: [
            ("filters", "filters"), ("buckets", "buckets"), ("notices", "notices"), ("included", "included"),
            ("available-filters", "availableFilters"),
        ])
    func named(path: String, name: String) async throws {
        let body = #"{"\#(name)":[{"id":1},{"id":2}],"scopes":["read","write"]}"#
        #expect(try await payloads("http://h/v1/\(path)", body) == [#"{"id":1}"#, #"{"id":2}"#])
    }

    @Test("A list that the URL names is empty, whatever stands beside it", arguments: ["filters", "products"])
    func empty(name: String) async throws {
        for beside in [#"["read"]"#, #"[{"id":1}]"#] {
            #expect(try await payloads("http://h/v1/\(name)", #"{"\#(name)":[],"others":\#(beside)}"#) == [])
        }
    }

    @Test("Plain values beside a side list of objects are refused, unless the URL or a total names them")
    func doubtful() async throws {
        let body = #"{"filters":[{"id":1},{"id":2},{"id":3}],"scopes":["read","write"]}"#
        await #expect { try await payloads("http://h/v1/settings", body) } throws: {
            ($0 as? FetchFailure)?.message == "the answer has two lists, /scopes and /filters: choose with --items"
        }
        #expect(try await payloads("http://h/v1/scopes", body) == [#""read""#, #""write""#])
        let counted = body.replacing("{\"filters", with: "{\"total\":2,\"filters")
        #expect(try await payloads("http://h/v1/settings", counted) == [#""read""#, #""write""#])
    }

    @Test("Facets beside the items stay beside them")
    func beside() async throws {
        let body = #"{"facets":[{"id":7},{"id":8},{"id":9}],"products":[{"id":1}]}"#
        #expect(try await payloads("http://h/shop", body) == [#"{"id":1}"#])
    }
}
#endif
