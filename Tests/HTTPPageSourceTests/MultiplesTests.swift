#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("Detection: offsets that must be multiples of the page size, and settings without overlap")
struct MultiplesTests {
    private func run(_ origin: ScriptedOrigin, overlap: Int?) async throws -> SyncReport {
        let clock = ManualClock()
        var options = SyncOptions()
        options.overlap = overlap ?? options.overlap
        options.reportsOutline = true
        let source = try scripted("http://h/api", origin) {
            $0.offsetParameter = "start"
            $0.overlap = overlap
        }
        return try await ListSync(
            storage: MemoryStorage(clock: clock), source: source, key: QueryKey("k"), options: options, clock: clock,
            jitter: { 0.5 }
        ).run()
    }

    /// Returns an origin of 95 items with pages of 20, by `start`. `first` is the position of the first item. Positions
    /// that are no multiples of 20 are refused with `status`. The status 200 means that they are rounded down.
    private func multiples(_ status: Int, first: Int = 0) -> ScriptedOrigin {
        ScriptedOrigin { url, _ in
            var start = max((url.number("start") ?? first) - first, 0)
            guard start.isMultiple(of: 20) || status == 200 else { return HTTPPageResponse(status: status) }
            start = min(start - start % 20, 95)
            return .json(#"{"items":[\#(objects(from: start, 20, of: 95))]}"#)
        }
    }

    @Test(
        "Without overlap, a list whose origin refuses other positions, or rounds them down, is read whole",
        arguments: [400, 404, 416, 422, 200])
    func noOverlap(status: Int) async throws {
        let origin = multiples(status)
        let report = try await run(origin, overlap: 0)
        #expect(report.outcome == .complete, "\(report.warnings) \(report.headFailure?.message ?? "")")
        #expect(report.list?.coverage.count == 95)
        let odd = origin.urls.filter { !(OriginURL($0)?.number("start") ?? 0).isMultiple(of: 20) }
        #expect(odd.count == 1, "only the probe may request another position: \(odd)")
    }

    @Test("Without overlap, multiples that are counted from 1 are also tried")
    func fromOne() async throws {
        let report = try await run(multiples(400, first: 1), overlap: 0)
        #expect(report.outcome == .complete, "\(report.warnings) \(report.headFailure?.message ?? "")")
        #expect(report.list?.coverage.count == 95)
    }

    @Test(
        "Without overlap, a list that ends with page one is complete, also if page one is short",
        arguments: [3, 20], [400, 404, 416])
    func endsWithPageOne(count: Int, status: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            guard start.isMultiple(of: 20) else { return HTTPPageResponse(status: status) }
            return .json(#"{"items":[\#(objects(from: start, 20, of: count))]}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("k")
        var options = SyncOptions()
        options.overlap = 0
        for run in 0..<2 {
            let before = origin.requests.count
            let source = try scripted("http://h/api?limit=20", origin, stored: try await storage.query(key)?.source) {
                $0.paging = .offset
                $0.overlap = 0
            }
            let report = try await ListSync(
                storage: storage, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
            #expect(report.outcome == .complete, "\(report.warnings) \(origin.urls)")
            #expect(origin.requests.count - before <= (run == 0 ? 8 : 3), "\(origin.urls)")
        }
        let query = try #require(try await storage.query(key))
        #expect(try await storage.outline(of: query.id)?.coverage.count == count)
    }

    @Test("Without overlap, a page that the origin cut below the size in the URL does not end its list")
    func capped() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            guard start.isMultiple(of: 17) else { return HTTPPageResponse(status: 404) }
            return .json(#"{"items":[\#(objects(from: start, 17, of: 40))]}"#)
        }
        let source = try scripted("http://h/api?limit=100", origin) {
            $0.paging = .offset
            $0.overlap = 0
        }
        _ = try await source.first()
        #expect(source.access == .grid(size: 17), "\(origin.urls)")
    }

    @Test("A named offset parameter whose values the origin rounds down is refused, unless the overlap is 0")
    func rounded() async throws {
        #expect(try await run(multiples(200), overlap: nil).outcome == .failed)
    }

    @Test("A refused offset costs one request, if page one names the next page", arguments: [400, 404])
    func chain(status: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            if url.value(of: "offset") != nil { return HTTPPageResponse(status: status) }
            let start = url.number("c") ?? 0, end = min(start + 20, 95)
            let next = end < 95 ? #""/api?c=\#(end)""# : "null"
            return .json(#"{"total":95,"items":[\#(objects(start..<end))],"next":\#(next)}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(Set(origin.urls.compactMap { OriginURL($0)?.number("offset") }) == [19])
        #expect(source.access == .chain)
    }
}
#endif
