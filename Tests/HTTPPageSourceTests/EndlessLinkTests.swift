#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Next links that never end")
struct EndlessLinkTests {
    private let clock = ManualClock()

    private struct Run {
        var outcome: SyncReport.Outcome
        /// The number of stored items.
        var held: Int?
        var requests: Int
    }

    /// Synchronises a list of 95 items twice.
    private func synchronise(_ origin: ScriptedOrigin) async throws -> [Run] {
        let storage = MemoryStorage(clock: clock), key = QueryKey("k")
        var runs: [Run] = []
        for _ in 0..<2 {
            let before = origin.requests.count
            let source = try scripted("http://h/api?limit=20", origin, stored: try await storage.query(key)?.source)
            let report = try await ListSync(
                storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
            let query = try #require(try await storage.query(key))
            let held = try await storage.outline(of: query.id)?.coverage.count
            runs.append(Run(outcome: report.outcome, held: held, requests: origin.requests.count - before))
        }
        return runs
    }

    private static func page(_ start: Int) -> Range<Int> {
        let start = min(max(start, 0), 95)
        return start..<min(start + 20, 95)
    }

    @Test("A link with another value in each answer is followed 1,000 times once, and 20 times in each later run")
    func nonce() async throws {
        let number = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            let nonce = number.withLock {
                $0 += 1
                return $0
            }
            let next = "/api?limit=20&offset=\(start + 20)&nonce=\(nonce)"
            return .json(#"{"data":[\#(objects(Self.page(start)))],"next":"\#(next)"}"#)
        }
        let runs = try await synchronise(origin)
        #expect(runs.map(\.outcome) == [.unproven, .unproven])
        #expect(runs.map(\.held) == [95, 95])
        #expect(runs[1].requests <= 30, "\(runs.map(\.requests))")
    }

    @Test(
        "A numbered link behind a total that is too large is not followed past that total",
        arguments: ["offset", "page"])
    func overcount(parameter: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let isPage = parameter == "page"
            let number = url.number(parameter) ?? (isPage ? 1 : 0)
            let shown = Self.page(isPage ? (number - 1) * 20 : number)
            let next = "http://h/api?limit=20&\(parameter)=\(isPage ? number + 1 : number + 20)"
            return .json(#"{"total":102,"data":[\#(objects(shown))],"next":"\#(next)"}"#)
        }
        let runs = try await synchronise(origin)
        #expect(runs.map(\.held) == [95, 95])
        #expect(runs.allSatisfy { $0.requests <= 60 }, "\(runs.map(\.requests))")
    }
}
#endif
