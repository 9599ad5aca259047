#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Statements of an answer about the rest of its list, and about a failure")
struct StatementTests {
    private func first(_ members: String, count: Int = 13) async throws -> FetchedPage {
        try await scripted(
            "http://h/api", ScriptedOrigin { _, _ in .json(#"{"data":[\#(objects(0..<count))],\#(members)}"#) }
        ).first()
    }

    private func run(_ origin: ScriptedOrigin, url: String = "http://h/api") async throws -> SyncReport {
        let clock = ManualClock()
        return try await ListSync(
            storage: MemoryStorage(clock: clock), source: try scripted(url, origin), key: QueryKey("k"),
            options: SyncOptions(), clock: clock, jitter: { 0.5 }
        ).run()
    }

    @Test(
        "A member that states that more follows, or that the answer is a part, opens the end of the list (R24)",
        arguments: [
            #""have_more_results":true"#, #""incomplete_results":true"#, #""partial":true"#, #""complete":false"#,
            #""finished":false"#, #""eof":false"#, #""exhausted":false"#, #""no_more":false"#, #""is_end":false"#,
            #""limitReached":true"#, #""overflow":true"#, #""page":{"current":1,"of":4}"#, #""found":47"#,
            #""nbResults":47"#, #""meta":{"partial":true}"#,
        ])
    func more(members: String) async throws {
        let page = try await first(members)
        #expect(page.hasMore == true || page.total.count == 47, "\(page)")
    }

    @Test(
        "A member such as `complete` only opens the end and never proves it, and one such as `eof` ends the list",
        arguments: [
            (#""incomplete_results":false"#, nil), (#""complete":true"#, nil), (#""finished":true"#, nil),
            (#""eof":true"#, false), (#""is_end":true"#, false), (#""no_more":true"#, false),
        ] as [(String, Bool?)])
    func directions(members: String, hasMore: Bool?) async throws {
        #expect(try await first(members).hasMore == hasMore)
        // A full page is open without a statement on its end.
        #expect(try await first(members, count: 10).hasMore == (hasMore ?? true))
    }

    @Test("A search that calls its results incomplete is not complete, although every page is fetched")
    func incompleteResults() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(((url.number("page") ?? 1) - 1) * 10, 20)
            return .json(
                #"{"total_count":20,"incomplete_results":true,"items":[\#(objects(from: start, 10, of: 20))]}"#)
        }
        let report = try await run(origin, url: "http://h/api?q=x&per_page=10")
        #expect(report.outcome != .complete && report.outcome != .limited, "\(report.outcome)")
        #expect(report.list?.coverage.count == 20)
    }

    @Test(
        "A member next to the total makes it an estimate",
        arguments: [
            #""total":47,"total_is_capped":true"#, #""total":47,"isEstimate":true"#, #""total":47,"approximate":true"#,
            #""total":{"value":47,"relation":"gte"}"#, #""nbHits":47,"exhaustiveNbHits":false"#,
        ])
    func estimates(members: String) async throws {
        #expect(try await first(members).total == .estimate(47))
    }

    @Test("A list whose total is a lower bound is incomplete if the origin refuses the position behind it")
    func lowerBound() async throws {
        func origin(_ relation: String) -> ScriptedOrigin {
            ScriptedOrigin { url, _ in
                let start = url.number("from") ?? 0
                guard start + 10 <= 40 else { return HTTPPageResponse(status: 400) }
                return .json(
                    #"{"hits":{"total":{"value":40,"relation":"\#(relation)"},"hits":[\#(objects(start..<start + 10))]}}"#
                )
            }
        }
        #expect(try await run(origin("gte"), url: "http://h/api?size=10").outcome == .incomplete)
    }

    // MARK: Failures

    @Test(
        "An error with a status of success is a failure, and not an empty list",
        arguments: [
            #"{"success":false,"errors":[{"code":1}],"messages":[],"result":null}"#,
            #"{"errors":[{"message":"no"}],"data":[]}"#, #"{"ok":false,"error":"no","items":[]}"#,
            #"{"status":"error","data":[]}"#, #"{"error":{"message":"no"},"items":null}"#,
        ])
    func failures(body: String) async throws {
        let report = try await run(ScriptedOrigin { _, _ in .json(body) })
        #expect(report.outcome == .failed)
        #expect(
            report.headFailure?.message.contains("with an error (/") == true, "\(report.headFailure?.message ?? "")")
    }

    @Test(
        "An empty list is complete when the error members of the answer state no error",
        arguments: [
            #"{"success":true,"errors":[],"result":[]}"#, #"{"error":null,"data":[]}"#,
            #"{"error":{"code":0,"message":""},"data":[]}"#, #"{"errors":{},"data":[],"status":"ok"}"#,
        ])
    func empty(body: String) async throws {
        #expect(try await run(ScriptedOrigin { _, _ in .json(body) }).outcome == .complete)
    }

    @Test("Errors are the items of a list that the URL names 'errors'")
    func listOfErrors() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"errors":[{"id":1}]}"#) }
        #expect(try await run(origin, url: "http://h/errors").outcome == .complete)
    }

    @Test("An error in place of a known page one keeps the list")
    func laterFailure() async throws {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        for body in [#"{"data":[{"id":1},{"id":2}]}"#, #"{"errors":[{"message":"timeout"}],"data":[]}"#] {
            let report = try await ListSync(
                storage: storage, source: try scripted("http://h/api", ScriptedOrigin { _, _ in .json(body) }),
                key: QueryKey("k"), options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
            #expect(report.list?.coverage.count == 2)
            #expect((report.outcome == .failed) == body.contains("timeout"))
        }
    }

    @Test(
        "Two answers without the place of the items empty a known list, unless a failing origin may send them (R20)",
        arguments: [#"{"kind":"objects"}"#, "{}", #"{"message":"try later"}"#], [true, false])
    func emptied(body: String, isPaged: Bool) async throws {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let isEmptied = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            if isEmptied.withLock({ $0 }) { return .json(body) }
            let count = isPaged ? 45 : 5, start = url.number("offset") ?? 0, end = min(start + 20, count)
            let total = isPaged ? #""total":45,"# : ""
            return .json(#"{"kind":"objects",\#(total)"items":[\#(objects(start..<max(start, end)))]}"#)
        }
        func synchronise() async throws -> SyncReport {
            let stored = try await storage.query(QueryKey("k"))?.source
            var options = SyncOptions()
            (options.confirmationPause, options.emptyConfirmationPause) = (.zero, .zero)
            return try await ListSync(
                storage: storage, source: try scripted("http://h/o", origin, stored: stored), key: QueryKey("k"),
                options: options, clock: clock, jitter: { 0.5 }
            ).run()
        }
        #expect(try await synchronise().outcome == .complete)
        isEmptied.withLock { $0 = true }
        let report = try await synchronise()
        // A failing origin may send an empty object or the text of an error.
        let isEmpty = body.contains("kind")
        #expect(report.list?.coverage.count == (isEmpty ? 0 : isPaged ? 45 : 5))
        #expect((report.outcome == .complete) == isEmpty)
    }

    // MARK: Links

    @Test("A next link with `results=\"false\"` is the end (Sentry)")
    func emptyLink() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.value(of: "cursor").flatMap { Int($0.split(separator: ":")[1]) } ?? 0,
                end = min(start + 20, 45)
            let link = #"<http://h/api?cursor=0:\#(end):0>; rel="next"; results="\#(end < 45)""#
            return .json("[\(objects(start..<end))]", [HTTPField("Link", link)])
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(!origin.urls.contains { $0.contains("0:45:0") })
        let short = try scripted(
            "http://h/api",
            ScriptedOrigin { _, _ in
                .json("[\(objects(0..<10))]", [HTTPField("Link", #"</api?cursor=1>; rel="next"; results="false""#)])
            })
        #expect(try await short.first().hasMore == false)
    }

    // MARK: Messages

    @Test("The error for an object of keyed objects names the setting that reads them")
    func keyedRoot() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"-N1":{"name":"a","v":1},"-N2":{"name":"b","v":2}}"#) }
        let failure = await #expect(throws: FetchFailure.self) {
            _ = try await scripted("http://h/rdb", origin).first()
        }
        #expect(failure?.message.contains("HTTPSourceConfiguration.items = ''") == true, "\(failure?.message ?? "")")
        let source = try scripted("http://h/rdb", origin) { $0.items = JSONPointer("") }
        #expect(try await source.first().content.count == 2)
    }

    @Test("A warning says that the second page is not JSON")
    func unreadable() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.number("page") ?? 1
            return page == 1
                ? .json(#"{"data":[\#(objects(0..<10))],"total":23}"#) : .json(#"{"data":[{"id":10},{"id"#)
        }
        let page = try await scripted("http://h/api", origin).first()
        #expect(
            page.detectedPaging?.warnings.contains { $0.contains("not JSON") } == true,
            "\(page.detectedPaging?.warnings ?? [])")
    }

    @Test("A warning names a member that may hold a cursor, with all settings that use it")
    func suggestion() async throws {
        let page = try await first(#""stream_position":5,"last_thing":"x7""#, count: 10)
        #expect(
            page.detectedPaging?.warnings.contains {
                $0.contains("HTTPSourceConfiguration.paging = cursor, HTTPSourceConfiguration.next = /")
                    && $0.contains(", HTTPSourceConfiguration.cursorParameter = NAME")
            }
                == true, "\(page.detectedPaging?.warnings ?? [])")
    }

    @Test("The error for a redirect or a next link to another origin names its port")
    func otherOrigin() async throws {
        for answer in [
            HTTPPageResponse.redirect(to: "http://other:8081/api"),
            .json(#"{"items":[\#(objects(0..<10))],"next":"http://other:8081/api?page=2"}"#),
        ] {
            let failure = await #expect(throws: FetchFailure.self) {
                _ = try await scripted("http://h/api", ScriptedOrigin { _, _ in answer }).first()
            }
            #expect(failure?.message.contains("http://other:8081") == true, "\(failure?.message ?? "")")
        }
    }
}
#endif
