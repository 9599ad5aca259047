#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Detection: tokens, keysets and continuation objects")
struct ContinuationTests {
    /// Returns an origin of 45 items, 20 per page, with an opaque token in the given parameter.
    private func tokens(
        _ parameter: String, total: Int? = nil, _ answer: @escaping @Sendable (String, String?) -> HTTPPageResponse
    ) -> ScriptedOrigin {
        ScriptedOrigin { url, _ in
            let start = url.value(of: parameter).flatMap { $0.hasPrefix("tok/") ? Int($0.dropFirst(4)) : nil } ?? 0,
                end = min(start + 20, 45)
            return answer(objects(start..<end), end < 45 ? "tok/\(end)" : nil)
        }
    }

    @Test(
        "A token in the body is sent in the parameter that its name suggests, or in a usual one",
        arguments: [
            ("next_cursor", "cursor"), ("nextPageToken", "pageToken"), ("next_page_token", "page_token"),
            ("nextToken", "nextToken"),
            ("continuationToken", "continuationToken"), ("next_marker", "marker"), ("endCursor", "after"),
            ("scroll_id", "scroll_id"),
            ("next", "cursor"), ("next_key", "cursor"), ("bookmark", "bookmark"),
        ])
    func bodyToken(member: String, parameter: String) async throws {
        let origin = tokens(parameter) { items, token in
            .json(#"{"meta":{"\#(member)":\#(token.map { "\"\($0)\"" } ?? "null")},"items":[\#(items)]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .chain)
        #expect(
            source.summary?.hasPrefix("cursor (/meta/\(member) into \(parameter))") == true, "\(source.summary ?? "")")
        #expect(source.explanation.contains { $0.field == "cursor" && $0.reason == .proved })
    }

    @Test(
        "A token in a custom header is detected",
        arguments: [("X-Next-Cursor", "cursor"), ("X-Continuation-Token", "continuation_token")])
    func headerToken(header: String, parameter: String) async throws {
        let origin = tokens(parameter) { items, token in
            .json("[\(items)]", token.map { [HTTPField(header, $0)] } ?? [])
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.summary?.hasPrefix("cursor (header:\(header) into \(parameter))") == true)
    }

    @Test("A stored cursor is enough to continue after a restart, and contains no secret (R45)")
    func restart() async throws {
        let origin = tokens("cursor") { items, token in
            .json(#"{"next_cursor":\#(token.map { "\"\($0)\"" } ?? "\"\""),"items":[\#(items)]}"#)
        }
        let first = try await scripted("http://h/api?kind=a&api_key=S3CRET", origin).first()
        let cursor = try #require(first.next), stored = try #require(first.detectedPaging?.source)
        #expect(cursor == PageCursor("http://h/api?kind=a&cursor=tok%2F20"))
        #expect(!stored.contains("S3CRET"))
        let again = try scripted("http://h/api?kind=a&api_key=S3CRET", origin, stored: stored)
        let before = origin.requests.count
        let second = try await again.page(.cursor(cursor))
        #expect(second.content.ids.first == "20")
        #expect(second.next == PageCursor("http://h/api?kind=a&cursor=tok%2F40"))
        #expect(origin.requests.count == before + 1)
        #expect(origin.urls.last == "http://h/api?kind=a&cursor=tok%2F20&api_key=S3CRET")
        #expect(try await again.page(.cursor(second.next!)).next == nil, "an empty token is the end")
    }

    @Test("A continuation object is merged into the query, and replaces its own members each time")
    func merged() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("apcontinue") ?? 0, end = min(start + 20, 45)
            let next = end < 45 ? #""continue":{"apcontinue":"\#(end)","continue":"-||"},"# : ""
            return .json(
                #"{\#(next)"query":{"allpages":[\#((start..<end).map { #"{"pageid":\#($0),"id":\#($0)}"# }.joined(separator: ","))]}}"#
            )
        }
        let source = try scripted("http://h/api?list=allpages", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.summary?.hasPrefix("cursor (/continue)") == true)
        #expect(origin.urls.contains("http://h/api?list=allpages&apcontinue=40&continue=-%7C%7C"))
    }

    @Test(
        "A numeric token is tried as an offset or a page number",
        arguments: [("next_offset", 20, "offset"), ("next_page", 2, "page")])
    func countingToken(member: String, next: Int, parameter: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = parameter == "page" ? ((url.number("page") ?? 1) - 1) * 20 : url.number("offset") ?? 0,
                end = min(start + 20, 45)
            let following = parameter == "page" ? start / 20 + 2 : end
            return .json(
                #"{"\#(member)":\#(end < 45 ? "\(following)" : "null"),"items":[\#(objects(min(start, 45)..<end))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(page.hasMore == true)
        #expect(source.access == (parameter == "page" ? .grid(size: 20) : .offsets))
        #expect(try await source.page(.offset(20)).content.ids.first == "20")
    }

    @Test(
        "Without a next link, has_more leads to a keyset: the last item's id goes into the usual parameters",
        arguments: ["starting_after", "after", "last", "marker", "since_id"])
    func keyset(parameter: String) async throws {
        let origin = ScriptedOrigin { url, request in
            if request.method == "HEAD" { return HTTPPageResponse(status: 405) }
            let start = url.number(parameter).map { $0 + 1 } ?? 0, end = min(start + 20, 45)
            return .json(#"{"has_more":\#(end < 45),"data":[\#(objects(start..<end))]}"#)
        }
        let source = try scripted("http://h/api", origin) {
            if ["marker", "since_id"].contains(parameter) { $0.paging = .keyset }
        }
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == .chain)
        #expect(source.probeSize == nil)
        #expect(source.summary?.hasPrefix("keyset (/id into \(parameter))") == true)
    }

    @Test("A keyset follows the member that the URL sorts by, and drops the repeated item")
    func sortedKeyset() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("since_id") ?? 0, end = min(start + 20, 45)
            return .json("[\((start..<end).map { #"{"id":"x\#(100 - $0)","rank":\#($0)}"# }.joined(separator: ","))]")
        }
        let source = try scripted("http://h/api?sort=-rank", origin) { $0.paging = .keyset }
        // Each page repeats the item that the request names. The source drops this item.
        #expect(try await walk(source) == (0..<45).map { "x\(100 - $0)" })
        #expect(source.summary?.hasPrefix("keyset (/rank into since_id)") == true)
    }

    @Test("An empty list has no last item that a named keyset could continue after", arguments: [true, false])
    func emptyKeyset(hasMore: Bool) async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"has_more":\#(hasMore),"data":[]}"#) }
        let source = try scripted("http://h/api", origin) {
            $0.paging = .keyset
            $0.cursorParameter = "starting_after"
        }
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else {
            Issue.record("page one is a page")
            return
        }
        #expect(page.content.isEmpty && page.next == nil)
    }

    @Test("An empty page ends a keyset without other evidence, and a short page does not (R24)")
    func keysetEnd() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("after").map { $0 + 1 } ?? 0, end = min(start + (start == 0 ? 20 : 7), 45)
            return .json("[\(objects(min(start, 45)..<end))]")
        }
        let source = try scripted("http://h/api", origin) { $0.paging = .keyset }
        #expect(try await walk(source) == fortyFive)
    }

    @Test("A token that no parameter accepts is reported in a warning")
    func untaken() async throws {
        let origin = tokens("only-they-know") { items, token in
            .json(#"{"next_cursor":"\#(token ?? "")","items":[\#(items)]}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(page.next == nil)
        #expect(source.access == .single)
        #expect(
            page.detectedPaging?.warnings == [
                "no parameter takes the token at /next_cursor; name one with HTTPSourceConfiguration.cursorParameter"
            ])
        #expect(origin.requests.count <= 8)
        let named = try scripted("http://h/api", origin, stored: page.detectedPaging?.source) {
            $0.cursorParameter = "only-they-know"
        }
        #expect(try await walk(named) == fortyFive)
    }

    @Test("A token is never sent in the parameter that contains the caller's secret (R45)")
    func secretParameter() async throws {
        let origin = tokens("cursor") { items, token in .json(#"{"nextToken":"\#(token ?? "")","items":[\#(items)]}"#) }
        let source = try scripted("http://h/api?token=0123456789abcdef0123", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(origin.requests.allSatisfy { $0.url.contains("token=0123456789abcdef0123") })
    }
}
#endif
