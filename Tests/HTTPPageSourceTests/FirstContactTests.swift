#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: faults and changes during first contact")
struct FirstContactTests {
    /// Returns an origin that answers requests for the next page with `fault`, `times` times, and then with the page.
    private func tokens(_ fault: HTTPPageResponse, times: Int) -> ScriptedOrigin {
        let left = Mutex(times)
        return ScriptedOrigin { url, _ in
            let start = url.value(of: "cursor").flatMap { Int($0.dropFirst()) } ?? 0, end = min(start + 20, 45)
            let isFaulty = left.withLock { left in
                guard start > 0, left > 0 else { return false }
                left -= 1
                return true
            }
            if isFaulty { return fault }
            let next = end < 45 ? #""c\#(end)""# : "null"
            return .json(#"{"items":[\#(objects(start..<end))],"next_cursor":\#(next)}"#)
        }
    }

    private func synchronise(_ source: HTTPSource) async throws -> SyncReport {
        let clock = ManualClock()
        return try await ListSync(
            storage: MemoryStorage(clock: clock), source: source, key: QueryKey("k"), options: SyncOptions(),
            clock: clock, jitter: { 0.5 }
        ).run()
    }

    @Test(
        "One fault at a probe does not end detection",
        arguments: [
            HTTPPageResponse(status: 500), HTTPPageResponse(status: 404), HTTPPageResponse(status: 503), .json("{}"),
            .json("not json"),
        ])
    func oneFault(fault: HTTPPageResponse) async throws {
        let report = try await synchronise(try scripted("http://h/api", tokens(fault, times: 1)))
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 45)
    }

    @Test("A lasting fault makes the list unproven, and a later run detects again", arguments: [500, 404, 503])
    func lastingFault(status: Int) async throws {
        let origin = tokens(HTTPPageResponse(status: status), times: 4)
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        var outcomes: [SyncReport.Outcome] = []
        for _ in 0..<3 {
            let source = try scripted("http://h/api", origin)
            outcomes.append(
                try await ListSync(
                    storage: storage, source: source, key: QueryKey("k"), options: SyncOptions(), clock: clock,
                    jitter: { 0.5 }
                ).run().outcome)
        }
        #expect(outcomes.first == .unproven)
        #expect(outcomes.last == .complete)
    }

    @Test("A list that changes between two answers does not prove a parameter that the origin ignores")
    func changeBetweenProbes() async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { _, _ in
            let count = requestCount.withLock { requestCount in
                requestCount += 1
                return requestCount
            }
            // The whole list is replaced once, after page one.
            let start = count == 1 ? 0 : 100
            return .json(#"{"items":[\#(objects(start..<start + 20))],"next_cursor":"c\#(start)"}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(source.access == .single, "\(source.summary ?? "")")
        #expect(page.hasMore == true)
    }

    @Test(
        "A position that returns the last item alone, and nothing a page later, proves itself and the end of the list",
        arguments: ["", #""count":10,"#, #""count":$items,"#], [10, 45])
    func onePage(total: String, count: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("start") ?? 0, end = min(start + 10, count)
            let stated = total.replacing("10", with: "\(count)").replacing("$items", with: "\(max(end - start, 0))")
            return .json(
                #"{"success":true,"result":{\#(stated)"results":[\#(objects(min(start, end)..<end))]}}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("k")
        for run in 0..<2 {
            let source = try scripted(
                "http://h/search?q=x&rows=10", origin, stored: try await storage.query(key)?.source)
            let before = origin.requests.count
            let report = try await ListSync(
                storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
            #expect(report.outcome == .complete, "\(report.warnings)")
            let query = try #require(try await storage.query(key))
            #expect(try await storage.outline(of: query.id)?.coverage.count == count)
            if run == 1 { #expect(origin.requests.count - before <= 4) }
        }
    }

    @Test("An answer without items to the page after the caller's own page number ends the list")
    func onePageByNumber() async throws {
        func outcome(_ url: String, _ total: String) async throws -> SyncReport.Outcome {
            let origin = ScriptedOrigin { url, _ in
                .json(#"{\#(total)"monitors":[\#(objects((url.number("page") ?? 0) == 0 ? 0..<20 : 0..<0))]}"#)
            }
            return try await synchronise(try scripted(url, origin)).outcome
        }
        #expect(try await outcome("http://h/monitor?page=0", "") == .complete)
        #expect(try await outcome("http://h/monitor?page=0", #""has_more":true,"#) != .complete)
    }

    @Test("A deletion between two answers does not prove an offset that the origin ignores (Spring Data)")
    func deletionBetweenProbes() async throws {
        for deletion in 2...5 {
            let requestCount = Mutex(0)
            let origin = ScriptedOrigin { url, _ in
                let count = requestCount.withLock { requestCount in
                    requestCount += 1
                    return requestCount
                }
                let all = (0..<47).filter { count < deletion || $0 != 2 }, start = (url.number("page") ?? 0) * 10
                let items = all.dropFirst(start).prefix(10).map { objects($0..<$0 + 1) }.joined(separator: ",")
                return .json(#"{"content":[\#(items)],"totalElements":\#(all.count),"number":\#(start / 10)}"#)
            }
            let source = try scripted("http://h/api?size=10", origin)
            _ = try await source.first()
            #expect(source.access != .offsets, "\(source.summary ?? "")")
        }
    }

    @Test("Detection waits for a short pause that the origin requests")
    func shortPause() async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let count = requestCount.withLock { requestCount in
                requestCount += 1
                return requestCount
            }
            if count == 2 || count == 3 {
                return HTTPPageResponse(status: 429, headers: [HTTPField("Retry-After", "1")])
            }
            let start = min(((url.number("page") ?? 1) - 1) * 20, 45)
            return .json(#"{"items":[\#(objects(from: start, 20, of: 45))],"total":45}"#)
        }
        let clock = ManualClock(), begun = clock.now()
        let source = try HTTPSource(HTTPSourceConfiguration(url: "http://h/api"), transport: origin, clock: clock)
        _ = try await source.first()
        #expect(source.access == .grid(size: 20))
        #expect(clock.now() - begun == .seconds(2))
    }

    @Test("An origin that requests pauses without end interrupts detection, within the budget")
    func endlessPause() async throws {
        let origin = ScriptedOrigin { url, _ in
            url.parameters.isEmpty
                ? .json("[\(objects(0..<7))]") : HTTPPageResponse(status: 429, headers: [HTTPField("Retry-After", "0")])
        }
        let source = try HTTPSource(
            HTTPSourceConfiguration(url: "http://h/api"), transport: origin, clock: ManualClock())
        #expect(try await source.first().hasMore == true, "nothing is known of the rest")
        #expect(origin.requests.count <= 8)
    }

    @Test("A pause that is too long for detection is named in the message of page one")
    func longPause() async throws {
        let origin = ScriptedOrigin { _, _ in
            HTTPPageResponse(status: 429, headers: [HTTPField("Retry-After", "120")])
        }
        let failure = await #expect(throws: FetchFailure.self) {
            _ = try await scripted("http://h/api", origin).first()
        }
        #expect(failure?.message == "the origin answered 429, and asks to wait 120 s")
    }

    @Test("An item that differs in each answer does not prove an offset")
    func restlessItem() async throws {
        let requestCount = Mutex(0)
        let origin = ScriptedOrigin { _, _ in
            let count = requestCount.withLock { requestCount in
                requestCount += 1
                return requestCount
            }
            return .json(#"{"items":[{"id":\#(count)}]}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .single, "\(source.summary ?? "")")
    }

    @Test("The answers that prove the paging serve as the next pages, and are not requested again")
    func reused() async throws {
        let origin = tokens(HTTPPageResponse(status: 500), times: 0)
        // Answers that are kept for later pages expire. The clock stands still, so that they do not expire here.
        let source = try HTTPSource(
            HTTPSourceConfiguration(url: "http://h/api"), transport: origin, clock: ManualClock())
        #expect(try await synchronise(source).outcome == .complete)
        // The run requests three pages. It then requests page one once more, to confirm a walk without a total.
        #expect(origin.requests.filter { $0.method == "GET" }.count == 4, "\(origin.urls)")
    }

    @Test("A full page is the whole list once the list has had more items on one page")
    func seenLarger() async throws {
        let count = Mutex(50)
        let origin = ScriptedOrigin { _, _ in .json("[\(objects(0..<count.withLock { $0 }))]") }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        func run() async throws -> SyncReport.Outcome {
            try await ListSync(
                storage: storage, source: try scripted("http://h/api", origin), key: QueryKey("k"),
                options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run().outcome
        }
        #expect(try await run() == .unproven)
        count.withLock { $0 = 53 }
        #expect(try await run() == .complete)
        count.withLock { $0 = 50 }
        #expect(try await run() == .complete)
    }

    @Test("The same items for a larger size prove that a page of an unusual size is the whole list")
    func largerSize() async throws {
        let origin = ScriptedOrigin { url, _ in
            .json("[\(objects(0..<min(37, url.number("limit") ?? 20)))]")
        }
        let report = try await synchronise(try scripted("http://h/api?limit=37", origin))
        #expect(report.outcome == .complete, "\(report.warnings)")
    }

    @Test(
        "The same items for a larger size prove nothing, where the origin ignores the size", arguments: [1, 2, 5, 37])
    func ignoredSize(size: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = ((url.number("blatt") ?? 1) - 1) * size
            return .json("[\(objects(from: start, size, of: 4 * size))]")
        }
        let report = try await synchronise(try scripted("http://h/api?limit=\(size)", origin))
        #expect(report.outcome == .unproven, "\(origin.urls)")
    }

    @Test("A warning names the setting for each kind of open end")
    func warnings() async throws {
        for (body, words) in [
            (#"{"items":[{"id":1}],"next_token":"t"}"#, "HTTPSourceConfiguration.cursorParameter"),
            (#"{"items":[{"id":1}],"has_more":true}"#, "HTTPSourceConfiguration.paging"),
            (#"{"items":[{"id":1}],"total_pages":9}"#, "HTTPSourceConfiguration.pageParameter"),
            (#"{"items":[{"id":1}],"total":9}"#, "HTTPSourceConfiguration.paging"),
            (#"{"items":[{"id":1}],"pending":9}"#, "HTTPSourceConfiguration.paging"),
            ("[\(objects(0..<50))]", "HTTPSourceConfiguration.paging = none"),
        ] {
            let report = try await synchronise(try scripted("http://h/api", ScriptedOrigin { _, _ in .json(body) }))
            #expect(report.outcome == .unproven, "\(body)")
            #expect(report.warnings.contains { $0.contains(words) }, "\(body): \(report.warnings)")
        }
    }

    @Test("A request accepts the JSON types of strict origins, and the failure of a 406 names the header")
    func accepted() async throws {
        let origin = ScriptedOrigin { _, request in
            let accept = request.header("Accept") ?? ""
            return accept.contains("application/*+json") ? .json("[]") : HTTPPageResponse(status: 406)
        }
        #expect(try await scripted("http://h/api", origin).first().content.isEmpty)
        let refusing = try scripted("http://h/api", ScriptedOrigin { _, _ in HTTPPageResponse(status: 406) })
        await #expect { try await refusing.first() } throws: {
            ($0 as? FetchFailure)?.message.contains("Accept") == true
        }
    }
}
#endif
