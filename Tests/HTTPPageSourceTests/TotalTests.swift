#if HTTP
import PageModel
import PagedRepository
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: totals")
struct TotalTests {
    private func total(_ body: String, _ headers: [HTTPField] = []) async throws -> ListTotal {
        try await scripted("http://h/api", ScriptedOrigin { _, _ in .json(body, headers) }).first().total
    }

    @Test(
        "A total in the body is found, also two levels deep",
        arguments: [
            #"{"total":45,"items":[$]}"#, #"{"meta":{"totalCount":45},"items":[$]}"#,
            #"{"meta":{"page":{"total_items":45}},"items":[$]}"#,
            #"{"numFound":45,"docs":[$]}"#, #"{"total":"45","items":[$]}"#,
            #"{"hits":{"total":{"value":45,"relation":"eq"},"hits":[$]}}"#,
            #"{"@odata.count":45,"value":[$]}"#, #"{"filtered_table_rows_count":45,"rows":[$]}"#,
        ])
    func inBody(body: String) async throws {
        #expect(try await total(body.replacing("$", with: objects(0..<20))) == .exact(45))
    }

    @Test(
        "A total in a header is found",
        arguments: [
            ("X-Total-Count", "45"), ("X-WP-Total", "45"), ("Total-Objects", "45"), ("X-Total", "45"),
            ("Content-Range", "items 0-19/45"),
            ("Pagination-Total", "45"),
        ])
    func inHeader(name: String, value: String) async throws {
        #expect(try await total("[\(objects(0..<20))]", [HTTPField(name, value)]) == .exact(45))
    }

    @Test(
        "A header that counts something else is not a total",
        arguments: [
            ("X-Total-Pages", "45"), ("Content-Length", "4500"), ("X-RateLimit-Total", "5000"),
            ("Content-Range", "items 0-19/*"), ("X-Query-Count", "99"),
        ])
    func otherHeaders(name: String, value: String) async throws {
        #expect(try await total("[\(objects(0..<20))]", [HTTPField(name, value)]) == .unknown)
    }

    @Test("A count of the page is not mistaken for the total of the list")
    func pageCount() async throws {
        #expect(try await total(#"{"count":20,"next":"/api?cursor=x","items":[\#(objects(0..<20))]}"#) == .unknown)
    }

    @Test(
        "A total may be a string, and a negative or absurd one is unknown or an estimate (R44)",
        arguments: [
            ("\"45\"", ListTotal.exact(45)), ("-3", .unknown), ("1e30", .estimate(1 << 53)), ("\"many\"", .unknown),
            ("null", .unknown),
        ])
    func totals(text: String, total: ListTotal) async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total":\#(text),"items":[\#(objects(0..<2))]}"#) }
        let page = try await scripted("http://h/api", origin) {
            $0.total = .init("/total"); $0.paging = .none
        }.first()
        #expect(page.total == total)
        #expect(
            page.detectedPaging?.warnings.isEmpty == (text != "-3" && text != "\"many\""),
            "an invalid total is reported in a warning")
    }

    @Test("An invalid total is reported in a warning when it first appears")
    func nonsense() async throws {
        let total = Mutex("45")
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"total":\#(total.withLock { $0 }),"next":"/api?offset=20","items":[\#(objects(0..<20))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().total == .exact(45))
        total.withLock { $0 = "-1" }
        let page = try await source.first()
        #expect(page.total == .unknown)
        #expect(page.detectedPaging?.warnings == ["/total is not a number of items; the total is unknown"])
    }

    @Test(
        "Every mark of an estimate makes the total an estimate",
        arguments: [
            #"{"hits":{"total":{"value":45,"relation":"gte"},"hits":[$]}}"#,
            #"{"total":45,"isEstimate":true,"items":[$]}"#,
            #"{"total":45,"approximate":true,"items":[$]}"#, #"{"estimatedTotal":45,"items":[$]}"#,
            #"{"meta":{"total":45,"total_relation":"approximately"},"items":[$]}"#,
            #"{"total":45,"estimated":"true","items":[$]}"#,
        ])
    func estimates(body: String) async throws {
        #expect(try await total(body.replacing("$", with: objects(0..<20))) == .estimate(45))
    }

    @Test("A negative mark leaves the total exact", arguments: [#""isEstimate":false"#, #""relation":"eq""#])
    func exact(mark: String) async throws {
        #expect(try await total(#"{"total":45,\#(mark),"items":[\#(objects(0..<20))]}"#) == .exact(45))
    }

    @Test("Two different totals, or one smaller than the page, are reported in a warning")
    func contradictions() async throws {
        let two = try await scripted(
            "http://h/api",
            ScriptedOrigin { _, _ in
                .json(#"{"total":45,"items":[\#(objects(0..<20))]}"#, [HTTPField("X-Total-Count", "50")])
            }
        ).first()
        #expect(two.total == .exact(45))
        #expect(
            two.detectedPaging?.warnings.first
                == "/total says that there are 45 items, and header:X-Total-Count 50; choose with HTTPSourceConfiguration.total"
        )
        let few = ScriptedOrigin { _, _ in .json(#"{"total":5,"items":[\#(objects(0..<20))]}"#) }
        let small = try await scripted("http://h/api", few).first()
        #expect(small.total == .unknown)
        #expect(
            small.detectedPaging?.warnings.first == "/total is 5, but the page has 20 items; not used as the total")
    }

    @Test("A total that only HEAD returns is requested on first contact, and again whenever page one has none (R16)")
    func head() async throws {
        let origin = ScriptedOrigin { url, request in
            if request.method == "HEAD" {
                return HTTPPageResponse(status: 200, headers: [HTTPField("Total-Objects", "45")])
            }
            if request.headers.contains(where: { $0.name == "If-None-Match" }) { return HTTPPageResponse(status: 304) }
            let start = url.number("_token") ?? 0, end = min(start + 20, 45)
            let next = end < 45 ? [HTTPField("Next-Page", "http://h/api?_limit=20&_token=\(end)")] : []
            return .json(#"{"data":[\#(objects(start..<end))]}"#, next + [HTTPField("ETag", "\"x\"")])
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(page.total == .exact(45))
        #expect(page.validator?.coversTotal == false)
        #expect(origin.requests.map(\.method) == ["GET", "HEAD"])
        #expect(source.summary?.contains("total header:Total-Objects (HEAD)") == true)

        #expect(
            try await source.fetch(PageRequest(.first, validator: page.validator))
                == .notModified(total: .exact(45), validator: nil))
        #expect(try await source.first().total == .exact(45))
        #expect(origin.requests.map(\.method) == ["GET", "HEAD", "GET", "HEAD", "GET", "HEAD"])
        _ = try await source.page(.cursor(page.next!))
        #expect(origin.requests.count == 7, "requests after page one do not need HEAD")

        let stored = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        #expect(try await stored.first().total == .exact(45))
    }

    @Test(
        "HEAD is not sent if the end is known or if the origin does not allow it",
        arguments: [
            #"{"items":[{"id":1}],"has_more":false}"#, #"{"items":[{"id":1}],"total":1}"#, #"{"items":[],"total":0}"#,
        ])
    func noHead(body: String) async throws {
        let origin = ScriptedOrigin { _, _ in .json(body) }
        _ = try await scripted("http://h/api", origin).first()
        #expect(origin.requests.map(\.method) == ["GET"])
        let forbidden = ScriptedOrigin { _, _ in
            .json(
                #"{"items":[{"id":1}]}"#,
                [HTTPField("Link", "</api?c=1>; rel=\"next\""), HTTPField("Allow", "GET, OPTIONS")])
        }
        _ = try await scripted("http://h/api", forbidden).first()
        #expect(!forbidden.requests.contains { $0.method == "HEAD" })
    }

    @Test(
        "HEAD that fails on first contact is sent again with the next page one, and its total is kept from then on",
        arguments: [nil, 500, 503, 408])
    func silentHead(status: Int?) async throws {
        let isWell = Mutex(false)
        let origin = ScriptedOrigin { url, request in
            guard request.method == "HEAD" else {
                if request.headers.contains(where: { $0.name == "If-None-Match" }) {
                    return HTTPPageResponse(status: 304)
                }
                return .json(
                    #"{"items":[{"id":1}]}"#,
                    [HTTPField("Link", "</api?c=1>; rel=\"next\""), HTTPField("ETag", "\"x\"")])
            }
            if isWell.withLock({ $0 }) {
                return HTTPPageResponse(status: 200, headers: [HTTPField("Total-Objects", "45")])
            }
            guard let status else { throw FetchFailure(.transport, "reset", isRetryable: true) }
            return HTTPPageResponse(status: status)
        }
        let first = try await scripted("http://h/api", origin).first()
        #expect(first.total == .unknown)
        #expect(first.detectedPaging?.warnings.first?.contains("the next run tries again") == true)
        #expect(first.next != nil, "the next page is known nevertheless")

        let still = try await scripted("http://h/api", origin, stored: first.detectedPaging?.source).first()
        #expect(still.total == .unknown)
        isWell.withLock { $0 = true }
        let source = try scripted("http://h/api", origin, stored: still.detectedPaging?.source)
        // The request is unconditional, because a 304 answer contains no detected paging to store.
        guard case .page(let page) = try await source.fetch(PageRequest(.first, validator: first.validator)) else {
            Issue.record("the answer is not a page")
            return
        }
        #expect(page.total == .exact(45))
        #expect(
            source.explanation.contains(
                PagingDecision("total", "header:Total-Objects", .proved, detail: "on HEAD only")))
        let last = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        #expect(
            try await last.fetch(PageRequest(.first, validator: page.validator))
                == .notModified(total: .exact(45), validator: nil))
    }

    @Test("HEAD is sent five times at most to an origin that never answers it")
    func silentForEver() async throws {
        let origin = ScriptedOrigin { _, request in
            request.method == "HEAD"
                ? HTTPPageResponse(status: 503)
                : .json(#"{"items":[{"id":1}]}"#, [HTTPField("Link", "</api?c=1>; rel=\"next\"")])
        }
        var stored: String?
        for _ in 0..<9 {
            let page = try await scripted("http://h/api", origin, stored: stored).first()
            stored = page.detectedPaging?.source ?? stored
        }
        #expect(origin.requests.count { $0.method == "HEAD" } == 5)
    }

    @Test("A refused HEAD costs one request, and page one succeeds")
    func refusedHead() async throws {
        let origin = ScriptedOrigin { _, request in
            request.method == "HEAD"
                ? HTTPPageResponse(status: 405)
                : .json(#"{"items":[{"id":1}]}"#, [HTTPField("Link", "</api?c=1>; rel=\"next\"")])
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().content.count == 1)
        #expect(source.explanation.contains(PagingDecision("total", "HEAD", .failed, detail: "answered 405")))
        _ = try await source.first()
        #expect(origin.requests.count { $0.method == "HEAD" } == 1)
    }
}
#endif
