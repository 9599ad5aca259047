#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("The page size parameter")
struct SizeTests {
    @Test(
        "A guessed size parameter that the origin refuses is dropped for good, and a configured one fails",
        arguments: [400, 422])
    func refusedSize(status: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            guard url.parameters.allSatisfy({ $0.plainName == "offset" }) else {
                return HTTPPageResponse(status: status)
            }
            let start = url.number("offset") ?? 0
            return .json(#"{"total":45,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first(size: 30)
        #expect(page.content.count == 20)
        #expect(
            page.detectedPaging?.warnings == [
                "the page size was not requested, because no size parameter is known; set HTTPSourceConfiguration.limitParameter. The origin returns 20 items a page"
            ])
        _ = try await source.page(.offset(20), size: 30)
        #expect(
            origin.urls == [
                "http://h/api?limit=30", "http://h/api", "http://h/api?offset=19", "http://h/api?offset=20",
            ])

        let named = try scripted("http://h/api", origin) { $0.limitParameter = "size" }
        await #expect(throws: FetchFailure.self) { _ = try await named.first(size: 30) }
        #expect(origin.requests.count == 5, "a configured value is not questioned")
    }

    @Test("A guessed size parameter that filters the list is dropped, and an empty list costs one more request")
    func filteringSize() async throws {
        let origin = ScriptedOrigin { url, _ in
            // The origin treats an unknown parameter as a filter by a member that no item has.
            guard url.parameters.allSatisfy({ $0.plainName == "offset" }) else {
                return .json(#"{"total":0,"items":[]}"#)
            }
            let start = url.number("offset") ?? 0
            return .json(#"{"total":45,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first(size: 30)
        #expect(page.content.count == 20)
        #expect(page.total == .exact(45))
        #expect(
            page.detectedPaging?.warnings == [
                "the page size was not requested, because no size parameter is known; set HTTPSourceConfiguration.limitParameter. The origin returns 20 items a page"
            ])
        #expect(origin.urls == ["http://h/api?limit=30", "http://h/api", "http://h/api?offset=19"])

        let empty = ScriptedOrigin { _, _ in .json(#"{"total":0,"items":[]}"#) }
        #expect(try await scripted("http://h/api", empty).first(size: 30).content.isEmpty)
        #expect(empty.urls == ["http://h/api?limit=30", "http://h/api"])
    }

    @Test("A size in the URL is replaced in place")
    func ownSize() async throws {
        let origin = ScriptedOrigin { url, _ in
            .json("[\(objects(0..<min(url.number("per_page") ?? 10, 45)))]", [HTTPField("X-Total-Count", "45")])
        }
        _ = try await scripted("http://h/api?per_page=5", origin).first(size: 45)
        #expect(origin.urls.first == "http://h/api?per_page=45")
    }
}
#endif
