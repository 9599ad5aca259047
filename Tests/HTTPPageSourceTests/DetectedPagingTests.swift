#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Detected paging, configured values and explanations")
struct DetectedPagingTests {
    private let offsets = ScriptedOrigin { url, _ in
        let start = url.number("offset") ?? 0
        return .json(
            #"{"count":45,"next":"http://h/api?limit=20&offset=\#(start + 20)","results":[\#(objects(from: start, 20, of: 45))]}"#
        )
    }

    @Test("Detected paging is stored, and reused without a new detection")
    func detectedPaging() async throws {
        let detectedPaging = try #require(
            try await scripted("http://h/api?api_key=S3CRET", offsets).first().detectedPaging)
        #expect(detectedPaging.paging == "offset")
        #expect(!detectedPaging.source.contains("S3CRET"))
        let second = try scripted("http://h/api?api_key=S3CRET", offsets, stored: detectedPaging.source)
        #expect(second.access == .offsets)
        _ = try await second.page(.offset(20), size: 20)
        #expect(offsets.urls == ["http://h/api?api_key=S3CRET", "http://h/api?offset=20&limit=20&api_key=S3CRET"])
    }

    @Test("Configured values override detection")
    func overrides() async throws {
        let origin = ScriptedOrigin { url, _ in
            .json(#"{"a":[{"k":"x\#(url.number("from") ?? 0)"}],"b":[{"id":1},{"id":2}],"n":7}"#)
        }
        let source = try scripted("http://h/api", origin) {
            $0.paging = .offset
            $0.items = JSONPointer("/a")
            $0.id = JSONPointer("/k")
            $0.total = .init("/n")
            $0.offsetParameter = "from"
            $0.limitParameter = "size"
        }
        let page = try await source.first(size: 1)
        #expect(page.content.ids == ["x0"])
        #expect(page.total == .exact(7))
        _ = try await source.page(.offset(1), size: 1)
        #expect(
            origin.urls == [
                "http://h/api?size=1", "http://h/api?size=1&from=1", "http://h/api?size=1",
                "http://h/api?from=1&size=1",
            ])
        #expect(
            source.explanation.filter { $0.reason == .said }.map(\.field) == [
                "items", "id", "total", "offset", "size", "paging",
            ])
    }

    @Test("Repeating a configured value needs no new detection, and a different value does")
    func configuredAgain() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("skip") ?? 0
            return .json(#"{"total":45,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let stored = try #require(
            try await scripted("http://h/api", origin) { $0.paging = .offset }.first().detectedPaging?.source)
        let before = origin.requests.count
        let same = try scripted("http://h/api", origin, stored: stored) { $0.paging = .offset }
        _ = try await same.first()
        #expect(origin.requests.count == before + 1)
        let silent = try scripted("http://h/api", origin, stored: stored)
        #expect(silent.access == .offsets, "a source without a configured value uses the stored one")
        let other = try scripted("http://h/api", origin, stored: stored) { $0.paging = .none }
        _ = try await other.first()
        #expect(other.access == .single)
    }

    @Test("Each decision is stored with its reason, and read back from a stored paging profile")
    func explained() async throws {
        let source = try scripted("http://h/api", offsets)
        #expect(source.explanation.isEmpty)
        let detectedPaging = try #require(try await source.first().detectedPaging)
        #expect(
            source.explanation == [
                PagingDecision("items", "/results", .seen), PagingDecision("id", "/id", .seen),
                PagingDecision("next", "/next", .seen),
                PagingDecision("total", "/count", .seen),
                PagingDecision("offset", "offset", .seen, detail: "in the next URL"),
                PagingDecision("size", "limit", .seen), PagingDecision("paging", "offset", .seen),
            ])
        #expect(HTTPSource.explanation(inStored: detectedPaging.source) == source.explanation)
        #expect(try scripted("http://h/api", offsets, stored: detectedPaging.source).explanation == source.explanation)
        #expect(source.explanation.first?.description == "items: /results (evidence in page one)")
        #expect(HTTPSource.explanation(inStored: "not ours").isEmpty)
    }

    @Test("A request for a later page first fetches page one, to detect the paging")
    func fromTheMiddle() async throws {
        let source = try scripted("http://h/api", offsets)
        let page = try await source.page(.offset(20))
        #expect(page.content.ids.first == "20")
        #expect(page.detectedPaging?.paging == "offset")
        #expect(offsets.urls == ["http://h/api", "http://h/api?offset=20"])
    }

    @Test("A different page size changes the grid, and positions follow the current page one")
    func changedGrid() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.number("page") ?? 1, size = url.number("per_page") ?? 50,
                start = min(max(page - 1, 0) * size, 300)
            return .json(#"{"total":300,"page":\#(page),"items":[\#(objects(from: start, size, of: 300))]}"#)
        }
        let first = try scripted("http://h/api?page=1&per_page=10", origin)
        let detectedPaging = try #require(try await first.first().detectedPaging)
        #expect(first.access == .grid(size: 10))
        let second = try scripted("http://h/api?page=1", origin, stored: detectedPaging.source)
        let again = try await second.first()
        #expect(second.access == .grid(size: 50))
        #expect(again.detectedPaging != nil)
        #expect(try await second.page(.offset(50)).content.ids.first == "50")
    }

    @Test(
        "The paging that an empty list shows is provisional",
        arguments: [
            #"{"total":0}"#, #"{"items":null,"total":0}"#, #"{"items":[],"total":0}"#, "[]",
        ])
    func emptyFirst(body: String) async throws {
        let page = try await scripted("http://h/api?page=1", ScriptedOrigin { _, _ in .json(body) }).first()
        #expect(page.content.isEmpty)
        #expect(
            page.detectedPaging?.source.contains(#""isProvisional":true"#) == true, "the paging profile is provisional")
    }

    @Test("The names in a stored paging profile do not change")
    func storedNames() {
        let stored =
            #"{"style":"page","url":"http://h/api","items":"/items","reasons":[{"field":"id","value":"/id","ground":"evidence in page one"}]}"#
        #expect(HTTPSource.explanation(inStored: stored) == [PagingDecision("id", "/id", .seen)])
    }

    @Test("An invalid stored paging profile causes no overflow (R46)")
    func hostileStore() async throws {
        let stored =
            #"{"style":"page","url":"http://h/api","items":"/items","firstPage":9223372036854775807,"gridSize":-5,"largestSize":-1}"#
        let origin = ScriptedOrigin { _, _ in .json(#"{"items":[{"id":1}]}"#) }
        let source = try scripted("http://h/api", origin, stored: stored)
        _ = try await source.page(.offset(7), size: 10)
        #expect(origin.urls == ["http://h/api?page=8&limit=1"])
        let most = Int.max
        let profile = PagingProfile(
            json: #"{"style":"none","url":"http://h/api","items":"/items","unansweredHeads":\#(most),"#
                + #""searched":{"items":1,"runs":\#(most)}}"#)
        #expect(profile?.searched?.runs == PagingProfile.Searched.mostCounted)
        #expect(profile?.unansweredHeads == 5)
    }

    @Test("A different credential, or none, does not match the owner of a list (R45)")
    func credentials() async throws {
        func made(_ header: String?, url: String = "http://h/api") throws -> HTTPSource {
            try scripted(url, ScriptedOrigin { _, _ in .json("[1,2]") }) {
                $0.paging = .none
                if let header { $0.headers = [HTTPField("Authorization", header)] }
            }
        }
        let stored = try #require(try await made("Bearer A").first().detectedPaging?.source)
        #expect(!stored.contains("Bearer"))
        #expect(try !made("Bearer A").belongsToAnother(stored: stored))
        #expect(try made("Bearer B").belongsToAnother(stored: stored))
        #expect(try made(nil).belongsToAnother(stored: stored))
        let anonymous = try #require(try await made(nil).first().detectedPaging?.source)
        #expect(try !made(nil).belongsToAnother(stored: anonymous))
        #expect(try made(nil, url: "http://h/api?api_key=x").belongsToAnother(stored: anonymous))
        #expect(try !made("Bearer A").belongsToAnother(stored: ""))
    }
}
#endif
