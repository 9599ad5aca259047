#if HTTP
import Foundation
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

/// The result of a synchronisation of one shape.
struct ShapeResult {
    var shape: Shape
    var outcome: String
    var style: String
    var held: Int
    var isExact: Bool
    var requests: Int
    /// The requests and the outcome of a second synchronisation of the unchanged list.
    var again: Int
    var outcomeAgain: String
    var warnings: [String]
    var explanation: [String]

    /// The requests of a walk that knows everything from the start.
    var bare: Int { (shape.count + shape.size - 1) / shape.size }

    /// The exit code of `pagecache sync`.
    var exit: Int { outcome == "complete" || outcome == "limited" ? 0 : outcome == "failed" ? 65 : 75 }

    var row: String {
        let what = isExact && outcome == "complete" ? "exact" : "\(held) of \(shape.count)"
        return
            "| \(shape.title) | \(style) | \(what) | \(outcome) | \(exit) | \(max(requests - bare, 0)) |"
    }
}

@Suite("Recorded shapes of public APIs (Tests/Shapes)")
struct ShapeTests {
    private func synchronise(_ shape: Shape) async throws -> ShapeResult {
        let number = Atomic(0)
        let origin = ScriptedOrigin { url, request in
            let number = number.add(1, ordering: .relaxed).newValue
            var response = shape.answer(url, request, number: number)
            if request.method == "HEAD" { response.body = [] }
            return response
        }
        let source = try HTTPSource(shape.configuration(), transport: origin)
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let key = HTTPSource.key(for: shape.url) ?? QueryKey(shape.url)
        let report = try await ListSync(
            storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
        ).run()
        let repository = ListRepository(storage: storage, codec: RawItemCodec(), clock: clock, source: { _ in source })
        var items: [String] = []
        if report.outcome != .failed {
            let page = try await repository.page(key, offset: 0, limit: 2_000, policy: .cacheOnly)
            items = page.items.map { String(decoding: $0, as: UTF8.self) }
        }
        let isExact = items.count == shape.count && items.enumerated().allSatisfy(shape.isItem)
        let requests = origin.requests.count
        let stored = try await storage.query(key)?.source
        let second = try HTTPSource(shape.configuration(), stored: stored, transport: origin)
        let again = try await ListSync(
            storage: storage, source: second, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
        ).run()
        return ShapeResult(
            shape: shape, outcome: report.outcome.rawValue, style: report.list?.record.paging ?? "-",
            held: items.count, isExact: isExact, requests: requests,
            again: origin.requests.count - requests, outcomeAgain: again.outcome.rawValue,
            warnings: report.warnings + [report.headFailure?.message].compactMap(\.self),
            explanation: source.explanation.map(\.description)
                + origin.requests.prefix(12).map { "\($0.method) \($0.url)" })
    }

    @Test("Each shape is read whole and exactly, or reported as a part; Documentation/Shapes.md shows the results")
    func matrix() async throws {
        let shapes = try Shape.all()
        #expect(shapes.count >= 60)
        var results: [ShapeResult] = []
        for shape in shapes { results.append(try await synchronise(shape)) }
        for result in results {
            let shape = result.shape
            let note: Comment = "\(shape.file): \(result.warnings) \(result.explanation.joined(separator: "\n    "))"
            #expect(result.outcome == shape.outcome, note)
            if !shape.style.isEmpty, shape.style != "-" { #expect(result.style == shape.style, note) }
            #expect(result.held == shape.held, note)
            #expect(result.outcomeAgain == shape.outcome, note)
            #expect(result.again <= shape.again, "\(shape.file): \(result.again) requests of an unchanged list")
            // A part is never called the whole.
            #expect(result.exit != 0 || result.isExact, note)
        }
        let within = results.filter { $0.shape.outcome == "complete" }
        let exact = within.count { $0.isExact && $0.outcome == "complete" }
        let overhead = within.filter { !$0.shape.isUntrue }.map { $0.requests - $0.bare }.sorted()
        #expect(exact * 100 >= within.count * 95)
        // One request of a chain without a total confirms the walk (Decisions/0016, 14).
        #expect(overhead[overhead.count / 2] <= 1, "the median of the requests beyond a bare walk")
        try compare(results, exact: exact, within: within.count)
    }

    /// Compares the matrix with the one in Documentation/Shapes.md. With `PAGECACHE_RECORD=1` it is written there.
    private func compare(_ results: [ShapeResult], exact: Int, within: Int) throws {
        let file = Shape.folder.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Documentation/Shapes.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let (open, close) = ("<!-- shapes -->\n", "<!-- /shapes -->")
        let start = try #require(text.range(of: open)), end = try #require(text.range(of: close))
        let table =
            ([
                "\(results.count) shapes: \(exact) of \(within) within reach are exact and complete, and "
                    + "\(results.count - within) that are out of reach end with 75 or 65.", "",
                "| shape | style | items | outcome | exit | requests beyond a bare walk |", "|---|---|---|---|---|---|",
            ] + results.map(\.row)).joined(separator: "\n") + "\n"
        if ProcessInfo.processInfo.environment["PAGECACHE_RECORD"] == "1" {
            let whole = text[..<start.upperBound] + table + text[end.lowerBound...]
            return try String(whole).write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(
            text[start.upperBound..<end.lowerBound] == table,
            "PAGECACHE_RECORD=1 swift test --filter ShapeTests writes the matrix")
    }
}
#endif
