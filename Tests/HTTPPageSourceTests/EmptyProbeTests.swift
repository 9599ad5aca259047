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

    /// Returns the positions of a page that begins at `start`: 20 at most, and none behind the end.
    private static func page(_ start: Int, of length: Int) -> Range<Int> {
        let start = min(max(start, 0), length)
        return min(start, length)..<min(start + 20, length)
    }

    @Test(
        "An answer without items to a position that page one holds is not an end, whatever the total counts",
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
        "A total that equals a short page is not believed, where the offset parameter counts pages",
        arguments: ["offset", "skip", "start"], [true, false])
    func shortPagesByOffset(name: String, isConstant: Bool) async throws {
        for (size, length) in [(4, 9), (3, 7), (4, 17), (7, 20)] + (name == "start" ? [] : [(3, 5)]) {
            let origin = ScriptedOrigin { url, _ in
                let start = (url.number(name) ?? 0) * size
                let shown = min(start, length)..<min(start + size, length)
                return .json(#"{"items":[\#(objects(shown))],"total":\#(isConstant ? size : shown.count)}"#)
            }
            let storage = MemoryStorage(clock: clock)
            for _ in 0..<2 { #expect(try await run(origin, storage).0.outcome == .unproven, "\(origin.urls)") }
        }
    }

    @Test("An offset of page one without items is requested again, where the page is full and no total counts the list")
    func once() async throws {
        let hasFailed = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            guard url.parameters.allSatisfy({ ["limit", "offset"].contains($0.plainName) }) else {
                return HTTPPageResponse(status: 400)
            }
            let offset = url.number("offset")
            let isFault = hasFailed.withLock { failed in
                let isFirst = offset != nil && !failed
                failed = failed || isFirst
                return isFirst
            }
            return .json(#"{"items":[\#(isFault ? "" : objects(from: offset ?? 0, 20, of: 95))]}"#)
        }
        let runs = try await synchroniseTwice(origin)
        #expect(runs.map(\.outcome) == [.complete, .complete])
        #expect(runs.map(\.held) == [95, 95])
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

    @Test(
        "A parameter with page one at its number and no item at the next number ends the list, until the list grows")
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
        "An origin that accepts only multiples of the page size is read whole, with any refusal of other offsets",
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
        for number in 0..<2 {
            let before = origin.requests.count
            let (report, held) = try await run(origin, storage)
            // The answer after a full page one repeats the total. That shows that the total counts the list.
            #expect(report.outcome == .complete, "\(report.warnings)")
            #expect(held == length)
            // A search in which a probe got 404 is repeated.
            if number == 1, length > 20 || status != 404 { #expect(origin.requests.count - before <= 2) }
        }
    }
}
#endif
