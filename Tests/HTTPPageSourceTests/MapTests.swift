#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("Detection: an object whose members each hold a list")
struct MapTests {
    private static let zones = #"""
        {"items":{"zones/a":{"instances":[{"id":1},{"id":2}]},"zones/b":{"warning":"empty"}},"nextPageToken":"t"}
        """#

    @Test(
        "An object whose members each hold a list is refused, and the error says so",
        arguments: [
            MapTests.zones, #"{"region 1":{"hosts":[{"id":1}]},"region 2":{"note":"none"},"total":9}"#,
            #"{"results":{"north":{"rows":[{"id":1}]},"south":{"rows":[]}}}"#,
        ])
    func refused(body: String) async throws {
        let failure = await #expect(throws: FetchFailure.self) {
            _ = try await scripted("http://h/aggregated", ScriptedOrigin { _, _ in .json(body) }).first()
        }
        #expect(failure?.message.contains("each member of") == true, "\(failure?.message ?? "")")
        #expect(failure?.isRetryable == false)
    }

    @Test("The caller may choose one member, or all of them as items")
    func chosen() async throws {
        let origin = ScriptedOrigin { _, _ in .json(Self.zones) }
        for (place, count) in [("/items/zones~1a/instances", 2), ("/items", 2)] {
            let source = try scripted("http://h/aggregated", origin) {
                $0.items = JSONPointer(place)
                $0.paging = .none
            }
            #expect(try await source.first().content.count == count, "\(place)")
        }
    }

    @Test(
        "A list inside other objects is found",
        arguments: [
            #"{"data":{"list":[{"id":1}]},"meta":{"a":1}}"#, #"{"response":{"docs":[{"id":1}]},"responseHeader":{}}"#,
            #"{"results":{"pagination":{},"body":{"row":[{"id":1}]}}}"#,
        ])
    func inside(body: String) async throws {
        let source = try scripted("http://h/api", ScriptedOrigin { _, _ in .json(body) })
        #expect(Array(try await source.first().content.ids) == ["1"])
    }

    @Test("Items that appear in another member on a later page do not end the list")
    func moved() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            let member = start < 20 ? "north" : "south"
            let items = objects(start..<start + 20), next = start + 20
            return .json(#"{"total":45,"data":{"\#(member)":{"rows":[\#(items)]}},"next":"/api?offset=\#(next)"}"#)
        }
        let clock = ManualClock()
        let report = try await ListSync(
            storage: MemoryStorage(clock: clock), source: try scripted("http://h/api", origin) { $0.paging = .nextURL },
            key: QueryKey("k"), options: SyncOptions(), clock: clock, jitter: { 0.5 }
        ).run()
        #expect(report.outcome != .complete && report.outcome != .limited, "\(report.warnings)")
    }

    /// Returns an origin of 95 items in lists by day: 25 items a day, and 20 items a page.
    private static func days(_ style: String, hasEmptyDays: Bool, total: String) -> ScriptedOrigin {
        ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? url.number("cursor") ?? 0, 95), end = min(start + 20, 95)
            let days = (0..<4).compactMap { day -> String? in
                let (lower, upper) = (max(start, 25 * day), min(end, 25 * day + 25))
                guard lower < upper || hasEmptyDays else { return nil }
                return #""2026-11-0\#(day + 1)":[\#(objects(lower..<max(lower, upper)))]"#
            }
            var more = ""
            if end < 95, style == "next" { more = #","next":"/api?limit=20&offset=\#(end)""# }
            if end < 95, style == "token" { more = #","next_cursor":"\#(end)""# }
            return .json(#"{\#(total)"days":{\#(days.joined(separator: ","))}\#(more)}"#)
        }
    }

    @Test(
        "Lists under the keys of a map are not read as one list, and an answer without the first key is not an end",
        arguments: ["offset", "next", "token"], [#""total":95,"#, ""])
    func keyed(style: String, total: String) async throws {
        for hasEmptyDays in [false, true] {
            let origin = Self.days(style, hasEmptyDays: hasEmptyDays, total: total)
            let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("k")
            for _ in 0..<2 {
                let source = try scripted("http://h/api?limit=20", origin, stored: try await storage.query(key)?.source)
                let report = try await ListSync(
                    storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
                ).run()
                #expect(report.outcome != .complete && report.outcome != .limited, "\(report.warnings)")
            }
        }
    }

    @Test(
        "A page whose items are in another place than those of page one is unreadable, and not empty",
        arguments: [
            (#"{"days":{"a":[{"id":1}]}}"#, #"{"days":{"b":[{"id":2}]}}"#),
            (#"{"data":{"north":[{"id":1}]}}"#, #"{"total":9,"data":{"south":[{"id":2}]}}"#),
            (#"{"days":{"2026-01":[{"id":1}]}}"#, #"{"days":{"2026-01":[{"id":2}],"2026-02":[{"id":3}]}}"#),
            (#"{"days":{"2026-01":[{"id":1}]}}"#, #"{"days":{"2026-01":[],"2026-02":[{"id":3}]}}"#),
        ])
    func elsewhere(first: String, second: String) throws {
        #expect(try Self.content(first, second) == nil)
    }

    @Test(
        "An answer whose list of items is empty or missing is an empty page, whatever other lists it has",
        arguments: [
            (#"{"things":[{"id":1}]}"#, #"{"things":[],"others":[{"id":2}]}"#),
            (#"{"things":[{"id":1}]}"#, #"{"total":1,"facets":[{"id":2}],"tags":[{"name":"x"}]}"#),
            (#"{"things":[{"id":1}],"total":1}"#, #"{"total":0,"others":[{"id":2}]}"#),
            (#"{"things":[{"id":1}]}"#, #"{"_links":{"curies":[{"id":"x","href":"/"}]},"total":1}"#),
        ])
    func beside(first: String, second: String) throws {
        #expect(try Self.content(first, second) == 0)
    }

    /// Returns the number of items of a second page, read with the paging of page one. Returns nil when the items cannot
    /// be read.
    private static func content(_ first: String, _ second: String) throws -> Int? {
        let url = try #require(OriginURL("http://h/api"))
        func answer(_ body: String) throws -> Answer { try Answer(.json(body), url: url, limits: HTTPLimits()) }
        let draft = try Detector.describe(answer(first), HTTPSourceConfiguration(url: "http://h/api"))
        let reader = PageReader(
            answer: try answer(second), description: draft.description, base: url, isFirst: false,
            limits: HTTPLimits())
        return (try? reader.content())?.count
    }
}
#endif
