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
        "A side list that the URL names is the list, even beside plain values",
        arguments: [
            ("filters", "filters"), ("buckets", "buckets"), ("notices", "notices"), ("included", "included"),
            ("available-filters", "availableFilters"),
        ])
    func named(path: String, name: String) async throws {
        let body = #"{"\#(name)":[{"id":1},{"id":2}],"scopes":["read","write"]}"#
        #expect(try await payloads("http://h/v1/\(path)", body) == [#"{"id":1}"#, #"{"id":2}"#])
    }

    @Test("An empty list that the URL names is the list, beside any other list", arguments: ["filters", "products"])
    func empty(name: String) async throws {
        for beside in [#"["read"]"#, #"[{"id":1}]"#] {
            #expect(try await payloads("http://h/v1/\(name)", #"{"\#(name)":[],"others":\#(beside)}"#) == [])
        }
    }

    @Test("Plain values beside a side list of objects are refused, unless the URL or a total names them")
    func ambiguous() async throws {
        let body = #"{"filters":[{"id":1},{"id":2},{"id":3}],"scopes":["read","write"]}"#
        await #expect { try await payloads("http://h/v1/settings", body) } throws: {
            ($0 as? FetchFailure)?.message
                == "the answer has two lists, /scopes and /filters: choose with HTTPSourceConfiguration.items"
        }
        #expect(try await payloads("http://h/v1/scopes", body) == [#""read""#, #""write""#])
        let counted = body.replacing("{\"filters", with: "{\"total\":2,\"filters")
        #expect(try await payloads("http://h/v1/settings", counted) == [#""read""#, #""write""#])
    }

    @Test(
        "A total of 0 counts the empty list, and not the list beside it",
        arguments: [
            #"{"count":0,"artObjects":[],"facets":[{"name":"maker"}]}"#,
            #"{"count":0,"order_columns":["a","b"],"result":[]}"#,
            #"{"total":0,"orders":[],"users":[{"id":1},{"id":2}]}"#,
        ])
    func countedEmpty(body: String) async throws {
        #expect(try await payloads("http://h/api", body) == [])
    }

    @Test("A total of 0 without an empty list is refused, unless it counts something else")
    func uncountedList() async throws {
        let body = #"{"queries":{"request":[{"title":"x"}]},"search":{"totalResults":"0"}}"#
        await #expect { try await payloads("http://h/api", body) } throws: {
            ($0 as? FetchFailure)?.message
                == "the answer counts 0 items, and has a list at /queries/request: choose with HTTPSourceConfiguration.items"
        }
        let other = #"{"failures":{"total":0},"things":[{"id":1}]}"#
        #expect(try await payloads("http://h/api", other) == [#"{"id":1}"#])
    }

    @Test("Objects beside a list that is null are not the list, and an error code makes the answer a failure")
    func null() async throws {
        let objects = #""related":{"user":{"1":{"id":1,"name":"x"},"2":{"id":2,"name":"y"}}}"#
        #expect(try await payloads("http://h/v1/deals", #"{"data":null,"has_more":false,\#(objects)}"#) == [])
        await #expect(throws: FetchFailure.self) {
            try await payloads("http://h/v1/deals", #"{"data":null,"code":401,\#(objects)}"#)
        }
    }

    @Test("Plain values beside a list without elements are refused")
    func emptyBesideValues() async throws {
        await #expect {
            try await payloads("http://h/query", #"{"head":{"vars":["item"]},"results":{"bindings":[]}}"#)
        } throws: {
            ($0 as? FetchFailure)?.message
                == "the answer has two lists, /head/vars and /results/bindings: choose with HTTPSourceConfiguration.items"
        }
    }

    @Test(
        "An empty list is as plausible as objects with an unusual name beside it",
        arguments: [
            #"{"users":[],"groups":[{"id":"g1"},{"id":"g2"},{"id":"g3"}]}"#,
            #"{"accounts":[{"account_id":"a1"},{"account_id":"a2"}],"added":[],"removed":[],"next_cursor":"c"}"#,
        ])
    func emptyBesideObjects(body: String) async throws {
        await #expect { try await payloads("http://h/sync", body) } throws: {
            ($0 as? FetchFailure)?.message.contains("the answer has two lists") == true
        }
    }

    @Test(
        "Objects beside an empty list are the list, if a position or a next link leads to further ones",
        arguments: ["offset", "next"])
    func pagedBesideEmpty(way: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number(way == "next" ? "c" : way) ?? 0, 17), end = min(start + 7, 17)
            let next = way == "next" && end < 17 ? #","next":"/directory?c=\#(end)""# : ""
            return .json(#"{"users":[\#(objects(start..<end))],"groups":[]\#(next)}"#)
        }
        let source = try scripted("http://h/directory", origin)
        #expect(try await walk(source) == (0..<17).map { String($0) })
    }

    @Test("A next link that leads to the same objects leaves open which list is meant")
    func linkBesideEmpty() async throws {
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"users":[\#(objects(0..<7))],"groups":[],"next":"/directory?c=1"}"#)
        }
        await #expect {
            _ = try await scripted("http://h/directory", origin).first()
        } throws: {
            ($0 as? FetchFailure)?.message.contains("the answer has two lists, /users and /groups") == true
        }
    }

    @Test(
        "A list with elements is the list, if the answer counts it or has more, or if the empty list holds texts or links",
        arguments: [
            #"{"tags":[],"things":[{"id":1}],"total":1}"#, #"{"tags":[],"things":[{"id":1}],"total":9}"#,
            #"{"tags":[],"things":[{"id":1}],"has_more":true}"#, #"{"messages":[],"things":[{"id":1}]}"#,
            #"{"pageLinks":[],"things":[{"id":1}]}"#,
        ])
    func emptyAccessory(body: String) async throws {
        #expect(try await payloads("http://h/api", body) == [#"{"id":1}"#])
    }

    @Test("An empty list is the list, although lists stand below a side list (Contentful)")
    func belowSideList() async throws {
        let body = #"{"total":0,"items":[],"includes":{"Entry":[{"id":1},{"id":2}]}}"#
        #expect(try await payloads("http://h/entries", body) == [])
    }

    @Test("Facets beside the items are not taken for the items")
    func beside() async throws {
        let body = #"{"facets":[{"id":7},{"id":8},{"id":9}],"products":[{"id":1}]}"#
        #expect(try await payloads("http://h/shop", body) == [#"{"id":1}"#])
    }
}
#endif
