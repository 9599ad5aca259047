#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("Detection: proofs, and evidence without proof")
struct EvidenceTests {
    @Test(
        "A text counts the items of a page and of the list",
        arguments: [
            ("1-18 of 95", 1, 18, 95), ("Showing 1 to 18 of 95 results", 1, 18, 95), ("0-17/95", 0, 17, 95),
            ("19 – 36 of 95", 19, 36, 95), ("items 1-18 out of 95", 1, 18, 95),
        ])
    func ranges(text: String, first: Int, last: Int, total: Int) throws {
        let range = try #require(StatedRange(text))
        #expect((range.first, range.last, range.total) == (first, last, total))
    }

    @Test(
        "Other texts with numbers count nothing",
        arguments: [
            "2024-01-18", "1/2/3", "18-1 of 95", "1-18 of 9", "page 1 of 6", "10.0.0.1", "", "1-18", "v1-2 of 3-4",
            "1-18 of 99999999999999999999",
        ])
    func noRanges(text: String) { #expect(StatedRange(text) == nil) }

    @Test("A survey fetches the page that a next link names before it reports the paging as proven")
    func survey() async throws {
        func survey(_ second: HTTPPageResponse) async throws -> SourceSurvey {
            let origin = ScriptedOrigin { url, _ in
                url.value(of: "after") == nil
                    ? .json(#"{"data":[\#(objects(0..<20))],"links":{"next":"/elsewhere?after=20"}}"#) : second
            }
            return try await scripted("http://h/api", origin).survey()
        }
        let missing = try await survey(HTTPPageResponse(status: 404))
        #expect(!missing.isProven)
        #expect(missing.warnings.last?.hasPrefix("the second page") == true)
        #expect(try await !survey(.json(#"{"data":[\#(objects(0..<20))],"links":{}}"#)).isProven)
        let fine = try await survey(.json(#"{"data":[\#(objects(20..<30))],"links":{}}"#))
        #expect(fine.isProven)
        #expect(fine.requests == 2)
    }

    @Test("A survey fetches the second page of a list whose next URL shows an offset")
    func surveyOfOffsets() async throws {
        let clock = ManualClock()
        let origin = ScriptedOrigin { url, _ in
            clock.advance(by: .milliseconds(100))
            let start = url.number("offset") ?? 0, end = min(start + 20, 45)
            return .json(#"{"total":45,"next":"/api?offset=\#(end)&limit=20","items":[\#(objects(start..<end))]}"#)
        }
        let source = try HTTPSource(HTTPSourceConfiguration(url: "http://h/api"), transport: origin, clock: clock)
        let survey = try await source.survey()
        #expect(survey.isProven)
        #expect(origin.requests.count == 2)
        #expect(survey.estimatedRequests == 3)
        #expect(survey.estimatedTime == .milliseconds(300), "the time of the same three requests")
    }

    @Test("HEAD is not sent to an origin that names the next page in the body")
    func head() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.value(of: "cursor").flatMap { Int($0.dropFirst()) } ?? 0, end = min(start + 20, 45)
            let next = end < 45 ? "\"c\(end)\"" : "null"
            return .json(#"{"items":[\#(objects(start..<end))],"next_cursor":\#(next)}"#)
        }
        #expect(try await walk(scripted("http://h/api", origin)) == fortyFive)
        #expect(origin.requests.allSatisfy { $0.method == "GET" })
        #expect(origin.requests.count == 3)
    }

    @Test("An empty first page with page=1 in its URL is refused where page 0 has items")
    func emptySecondPage() async throws {
        let origin = ScriptedOrigin { url, _ in
            .json(#"{"content":[\#(url.number("page") ?? 0 == 0 ? objects(0..<7) : "")]}"#)
        }
        await #expect { try await scripted("http://h/api?page=1", origin).first() } throws: {
            ($0 as? FetchFailure)?.message
                == "page=1 in the URL is the second page: page=0 has other items; use page=0"
        }
        let empty = ScriptedOrigin { _, _ in .json(#"{"content":[]}"#) }
        #expect(try await scripted("http://h/api?page=1", empty).first().content.isEmpty)
    }

    @Test("A page number is proven at an origin that repeats the second and last page for every later number")
    func repeatedLastPage() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = min(url.number("page") ?? 1, 2), start = (page - 1) * 20, end = min(start + 20, 35)
            return .json(#"{"page":\#(page),"pages":2,"total":35,"photo":[\#(objects(start..<end))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == Array(fortyFive.prefix(35)))
        #expect(source.access == .grid(size: 20))
    }

    @Test("A total that differs in an answer with the last item alone is an estimate")
    func varyingTotalAtEnd() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 7)
            return .json(#"{"total":\#(start == 0 ? 300 : 313),"items":[\#(objects(start..<7))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().total == .estimate(300))
        #expect(source.access == .offsets)
    }

    @Test("A total that differs by five or more in the answer that proves the paging is an estimate")
    func varyingTotal() async throws {
        for (difference, expected) in [(4, ListTotal.exact(45)), (5, .estimate(45))] {
            let origin = ScriptedOrigin { url, _ in
                let start = url.number("offset") ?? 0, end = min(start + 20, 45)
                return .json(
                    #"{"total":\#(start == 0 ? 45 : 45 + difference),"items":[\#(objects(start..<end))]}"#)
            }
            #expect(try await scripted("http://h/api", origin).first().total == expected)
        }
    }
}
#endif
