#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: answers without items to probes")
struct EmptyProbeTests {
    private let clock = ManualClock()

    private func run(_ origin: ScriptedOrigin, _ storage: MemoryStorage) async throws -> (SyncReport, Int?) {
        let key = QueryKey("k")
        let source = try scripted("http://h/api", origin, stored: try await storage.query(key)?.source)
        let report = try await ListSync(
            storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
        ).run()
        guard let query = try await storage.query(key) else { return (report, nil) }
        return (report, try await storage.outline(of: query.id)?.coverage.count)
    }

    /// The items of a list from `start` on, 20 at most.
    private static func page(_ start: Int, of length: Int) -> Range<Int> {
        let start = min(max(start, 0), length)
        return start..<min(start + 20, length)
    }

    @Test(
        "An answer without items to a position that page one holds is no end, whatever the total counts",
        arguments: ["offset", "skip", "start", "from"], ["", #""page":1,"#])
    func pagesByOffset(name: String, number: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let shown = Self.page((url.number(name) ?? 0) * 20, of: 95)
            return .json(#"{\#(number)"items":[\#(objects(shown))],"total":\#(shown.count)}"#)
        }
        let storage = MemoryStorage(clock: clock)
        for _ in 0..<2 { #expect(try await run(origin, storage).0.outcome == .unproven) }
    }

    @Test(
        "Parameters that filter the list to nothing prove no end",
        arguments: ["", #""page":1,"#, #""page":0,"#, #""offset":0,"#])
    func filters(number: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let shown = url.parameters.isEmpty ? 0..<20 : 0..<0
            return .json(#"{\#(number)"items":[\#(objects(shown))],"total":\#(shown.count)}"#)
        }
        let storage = MemoryStorage(clock: clock)
        for _ in 0..<2 { #expect(try await run(origin, storage).0.outcome == .unproven) }
    }

    @Test("A page number that returns page one, and nothing for the next number, ends the list until it grows")
    func pageNumber() async throws {
        let length = Mutex(20)
        let origin = ScriptedOrigin { url, _ in
            let shown = Self.page(((url.number("page") ?? 1) - 1) * 20, of: length.withLock { $0 })
            return .json(#"{"page":\#(url.number("page") ?? 1),"items":[\#(objects(shown))],"total":\#(shown.count)}"#)
        }
        let storage = MemoryStorage(clock: clock)
        for expected in [20, 45] {
            length.withLock { $0 = expected }
            let (report, held) = try await run(origin, storage)
            #expect(report.outcome == .complete, "\(report.warnings)")
            #expect(held == expected)
        }
    }

    @Test(
        "An origin that accepts only multiples of the page size is read whole, however it refuses other offsets",
        arguments: [200, 400, 404, 416, 422], [20, 95])
    func multiples(status: Int, length: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let offset = url.number("offset") ?? 0
            if !offset.isMultiple(of: 20), status != 200 { return HTTPPageResponse(status: status) }
            let shown = offset.isMultiple(of: 20) ? Self.page(offset, of: length) : 0..<0
            return .json(
                #"{"total":\#(length),"limit":20,"offset":\#(offset),"records":[\#(objects(shown))]}"#)
        }
        let storage = MemoryStorage(clock: clock)
        // Where page one is full, and the origin does not name the reason, nothing proves that the offset is a position.
        let isProved = length > 20 || [400, 422].contains(status)
        for number in 0..<2 {
            let before = origin.requests.count
            let (report, held) = try await run(origin, storage)
            #expect(report.outcome == (isProved ? .complete : .unproven), "\(report.warnings)")
            #expect(held == length)
            if isProved, number == 1 { #expect(origin.requests.count - before <= 2) }
        }
    }
}
#endif
