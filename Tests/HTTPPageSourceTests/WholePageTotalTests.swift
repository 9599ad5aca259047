#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Detection: a total that equals a full page, and counts the list")
struct WholePageTotalTests {
    @Test("A total that the answer calls exact counts the list, even if it equals a full page (Elasticsearch)")
    func statedExact() async throws {
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"hits":{"total":{"value":10,"relation":"eq"},"hits":[\#(objects(0..<10))]}}"#)
        }
        let page = try await scripted("http://h/_search", origin).first()
        #expect(page.total == .exact(10))
        #expect(page.hasMore != true)
        #expect(origin.requests.count == 1)
    }

    @Test(
        "A total that equals a full page counts the list, if a sign supports it and no probe finds more items",
        arguments: [
            #""link":[{"relation":"self","url":"http://h/api"}],"total":"#, #""token":null,"total":"#,
            #""numberReturned":20,"total":"#,
        ])
    func supported(sign: String) async throws {
        for (status, count) in [(200, 20), (400, 20), (200, 60)] {
            let origin = ScriptedOrigin { url, _ in
                let position = url.number("skip")
                if status == 400, !url.parameters.isEmpty { return HTTPPageResponse(status: 400) }
                let start = count == 20 ? 0 : min(position ?? 0, count), end = min(start + 20, count)
                return .json("{\(sign)\(end - start),\"items\":[\(objects(start..<end))]}")
            }
            let source = try scripted("http://h/api", origin)
            let page = try await source.first()
            if count == 20 {
                #expect(page.hasMore != true, "\(page.detectedPaging?.warnings ?? [])")
                #expect(page.total == .exact(20))
                let before = origin.requests.count
                let again = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
                #expect(try await again.first().hasMore != true)
                #expect(origin.requests.count == before + 1)
            } else {
                #expect(source.access == .offsets, "\(source.summary ?? "")")
                #expect(page.total == .unknown)
            }
        }
    }

    @Test("A total that equals a full page proves no end, if nothing supports it")
    func unsupported() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total_count":20,"items":[\#(objects(0..<20))]}"#) }
        #expect(try await scripted("http://h/api", origin).first().hasMore == true)
        let refusing = ScriptedOrigin { url, _ in
            url.parameters.isEmpty
                ? .json(#"{"total_count":20,"items":[\#(objects(0..<20))]}"#) : HTTPPageResponse(status: 400)
        }
        #expect(try await scripted("http://h/api", refusing).first().hasMore == true)
    }

    @Test(
        "A total that an answer without items repeats counts the list, and one that it does not repeat proves nothing",
        arguments: [20, 0])
    func withoutItems(later: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            guard url.parameters.allSatisfy({ $0.plainName == "page" }) else { return HTTPPageResponse(status: 400) }
            let isFirst = url.number("page") ?? 0 == 0
            return .json(
                #"{"items":[\#(objects(isFirst ? 0..<20 : 0..<0))],"total_count":\#(isFirst ? 20 : later)}"#)
        }
        let page = try await scripted("http://h/api", origin).first()
        #expect((page.hasMore != true) == (later == 20))
        #expect((page.total == .exact(20)) == (later == 20))
    }

    @Test(
        "A list of one full page ends, if the position behind the page is empty and that of its last item shows no item",
        arguments: [400, 404, 416, 422, 200])
    func multiplesOnly(status: Int) async throws {
        for count in [20, 60] {
            let origin = ScriptedOrigin { url, _ in
                let start = url.number("offset") ?? 0, isAligned = start.isMultiple(of: 20)
                if !isAligned, status != 200 { return HTTPPageResponse(status: status) }
                let shown = isAligned ? min(start, count)..<min(start + 20, count) : count..<count
                // The total of the longer list counts the page.
                let total = count == 20 ? 20 : shown.count
                return .json(#"{"items":[\#(objects(shown))],"total":\#(total)}"#)
            }
            let source = try scripted("http://h/api?limit=20", origin)
            let page = try await source.first()
            #expect(origin.urls.contains { OriginURL($0)?.number("offset") == 20 })
            #expect(page.hasMore != true)
            #expect(page.total == (count == 20 ? .exact(20) : .unknown))
            if count == 60 { #expect(source.access == .grid(size: 20)) }
        }
    }

    @Test("The end of a search whose total equals a full page is proven through `from` (npm)")
    func bySearch() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("from") ?? 0, 20)
            return .json(#"{"objects":[\#(objects(start..<20))],"total":20}"#)
        }
        let source = try scripted("http://h/search?text=x", origin)
        let page = try await source.first()
        #expect(page.total == .exact(20))
        #expect(page.hasMore != true)
        #expect(source.access == .offsets)
    }
}
#endif
