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
        "One member of such an object is not taken for the list",
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
}
#endif
