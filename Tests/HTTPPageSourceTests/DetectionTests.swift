#if HTTP
import PageModel
import PagedRepository
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: evidence in page one")
struct DetectionTests {
    @Test("Offset and limit in the next URL and a total in the body lead to offset paging without a probe")
    func offsets() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0, limit = url.number("limit") ?? 20
            let end = min(start + limit, 45)
            let next = end < 45 ? #""http://h/api?limit=\#(limit)&offset=\#(end)""# : "null"
            return .json(#"{"count":45,"next":\#(next),"previous":null,"results":[\#(objects(min(start, 45)..<end))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .offsets)
        #expect(source.probeSize == 4)
        #expect(source.largestOverlap == nil)
        #expect(origin.urls == ["http://h/api", "http://h/api?offset=20", "http://h/api?offset=40"])
        #expect(source.summary?.contains("items /results · id /id · total /count") == true)
    }

    @Test("Page numbers in a Link header and a total in a header lead to page paging")
    func pages() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.number("page") ?? 1, start = (page - 1) * 10, end = min(start + 10, 45)
            let link = end < 45 ? [HTTPField("Link", #"<http://h/api?page=\#(page + 1)>; rel="next""#)] : []
            return .json("[\(objects(start..<end))]", link + [HTTPField("X-Total-Count", "45")])
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .grid(size: 10))
        #expect(source.largestOverlap == 0)
        #expect(source.probeSize == nil)
        #expect(origin.urls.last == "http://h/api?page=5")
    }

    @Test("A relative next URL two levels deep in the body is followed")
    func nextURL() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = (url.number("after") ?? -1) + 1, end = min(start + 20, 45)
            let next = end < 45 ? #""?after=\#(end - 1)&token=page&api_key=S3CRET""# : "null"
            return .json(#"{"meta":{"next":\#(next)},"data":{"entries":[\#(objects(start..<end))]}}"#)
        }
        let source = try scripted("http://h/api?api_key=S3CRET", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .chain)
        #expect(
            origin.urls.last == "http://h/api?after=39&token=page&api_key=S3CRET",
            "the secret is added again to the request (R45)")
        #expect(
            try await source.first().next == PageCursor("http://h/api?after=19&token=page"),
            "an echoed secret is not stored (R45)")
    }

    @Test("A relative Link header is followed for items that are plain strings, without a total")
    func link() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.value(of: "last").map { Int($0.dropFirst())! + 1 } ?? 0, end = min(start + 20, 45)
            let link = end < 45 ? [HTTPField("link", #"</v2/_catalog?last=r\#(end - 1)&n=20>; rel="next""#)] : []
            return .json(#"{"repositories":[\#((start..<end).map { "\"r\($0)\"" }.joined(separator: ","))]}"#, link)
        }
        let source = try scripted("http://h/v2/_catalog?n=20", origin)
        #expect(try await walk(source) == (0..<45).map { "r\($0)" })
        #expect(source.access == .chain)
        #expect(origin.urls.contains("http://h/v2/_catalog?last=r19&n=20"))
    }

    @Test(
        "The next URL is found in every usual shape",
        arguments: [
            (#""next_url":"$""#, "/next_url"), (#""links":{"next":"$"}"#, "/links/next"),
            (#""links":{"next":{"href":"$"}}"#, "/links/next/href"),
            (#""_links":{"self":{"href":"/x"},"next":{"href":"$"}}"#, "/_links/next/href"),
            (#""@odata.nextLink":"$""#, "/@odata.nextLink"),
            (#""links":[{"rel":"self","href":"/x"},{"rel":"next","href":"$"}]"#, "/links[rel=next]"),
            (#""link":[{"relation":"next","url":"$"}]"#, "/link[rel=next]"),
            (#""nextRecordsUrl":"$""#, "/nextRecordsUrl"),
            (#""paging":{"next":"$"}"#, "/paging/next"), (#""d":{"__next":"$"}"#, "/d/__next"),
        ])
    func nextShapes(shape: String, place: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? 0, end = min(start + 20, 45)
            let next = shape.replacing("$", with: "/api?cursor=\(end)")
            return .json("{\(end < 45 ? next + "," : "")\"items\":[\(objects(start..<end))]}")
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .chain)
        #expect(source.summary?.hasPrefix("next-url (\(place))") == true, "\(source.summary ?? "")")
    }

    @Test("An array of links next to few items is not mistaken for the items")
    func linksAreNotItems() async throws {
        let source = try scripted(
            "http://h/api",
            ScriptedOrigin { _, _ in
                .json(#"{"links":[{"rel":"a","href":"/a"},{"rel":"b","href":"/b"}],"things":[{"id":7}],"total":1}"#)
            })
        #expect(Array(try await source.first().content.ids) == ["7"])
    }

    @Test(
        "Items are found at the top, under any key and two levels deep, and usual names win over longer arrays",
        arguments: [
            ("[{\"id\":1}]", "the top"), (#"{"whatever":[{"id":1}]}"#, "/whatever"),
            (#"{"a":{"b":[{"id":1}]}}"#, "/a/b"),
            (#"{"results":[{"id":1}],"facets":[{"n":"a"},{"n":"b"}]}"#, "/results"),
            (#"{"tags":["a","b"],"people":[{"id":1}]}"#, "/people"),
            (#"{"hits":{"total":{"value":1,"relation":"eq"},"hits":[{"id":1}]}}"#, "/hits/hits"),
        ])
    func items(body: String, place: String) async throws {
        let source = try scripted("http://h/api", ScriptedOrigin { _, _ in .json(body) })
        #expect(Array(try await source.first().content.ids) == ["1"])
        #expect(source.explanation.first { $0.field == "items" }?.value == place)
    }

    @Test("Detection takes one of two possible item arrays, and reports the other in a warning")
    func rivals() async throws {
        let source = try scripted(
            "http://h/api",
            ScriptedOrigin { _, _ in .json(#"{"people":[{"id":1},{"id":2}],"places":[{"id":3}],"total":2}"#) })
        let page = try await source.first()
        #expect(Array(page.content.ids) == ["1", "2"])
        #expect(
            page.detectedPaging?.warnings == [
                "the items are taken from /people; /places holds a list, too: choose with HTTPSourceConfiguration.items"
            ])
    }

    @Test("An id member must be present in every item and unique, and otherwise the items have no ids")
    func ids() async throws {
        for (items, expected) in [
            (#"{"id":1},{"id":1}"#, [nil, nil]), (#"{"id":1},{"x":2}"#, [nil, nil]),
            (#"{"id":{}},{"id":{}}"#, [nil, nil]),
            (#"{"id":1,"uuid":"a"},{"id":1,"uuid":"b"}"#, ["a", "b"]), ("1,2", ["1", "2"]), ("1,1", [nil, nil]),
            (#"{"id":0},{"id":"0"}"#, ["0", "0"]), (#"{"id":"0"},{"id":"0"}"#, [nil, nil]),
        ] as [(String, [String?])] {
            let source = try scripted("http://h/api", ScriptedOrigin { _, _ in .json("[\(items)]") })
            #expect(Array(try await source.first().content.ids) == expected, "\(items)")
        }
    }

    @Test(
        "Members that report more pages are recognized under many names, including inverted ones (R24)",
        arguments: [
            (#""has_more":$"#, true), (#""hasMore":$"#, true), (#""meta":{"hasNextPage":$}"#, true),
            (#""last":$"#, false), (#""isLastPage":$"#, false),
            (#""done":$"#, false), (#""has_more":"$""#, true),
        ])
    func hasMore(member: String, isMore: Bool) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0, end = min(start + 20, 45)
            let truth = (end < 45) == isMore
            return .json(
                #"{"items":[\#(objects(min(start, 45)..<end))],\#(member.replacing("$", with: truth ? "true" : "false"))}"#
            )
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().hasMore == true)
        #expect(source.access == .offsets)
        #expect(try await source.page(.offset(40)).hasMore == false)
    }

    @Test(
        "The number of pages identifies the last page (R24)",
        arguments: ["total_pages", "totalPages", "last_page", "pageCount"])
    func pageCount(name: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.number("page") ?? 1, start = (page - 1) * 20
            return .json(#"{"page":\#(page),"\#(name)":3,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().hasMore == true)
        #expect(source.access == .grid(size: 20))
        #expect(try await source.page(.offset(20)).hasMore == true)
        #expect(try await source.page(.offset(40)).hasMore == false)
    }

    @Test("Contradictory evidence is reported in a warning: a next page although has_more is false")
    func contradiction() async throws {
        let source = try scripted(
            "http://h/api",
            ScriptedOrigin { _, _ in
                .json(#"{"has_more":false,"next":"/api?cursor=x","items":[\#(objects(0..<20))]}"#)
            })
        let page = try await source.first()
        #expect(page.next == PageCursor("http://h/api?cursor=x"))
        #expect(page.hasMore == nil)
        #expect(page.detectedPaging?.warnings.first?.contains("/has_more says that the list ends") == true)
    }
}
#endif
