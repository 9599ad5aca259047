#if Tool
import HostileOrigin
import HTTPPageSource
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// An origin with wrong totals (R44). A total determines neither an allocation nor a loop, and removes no item (R20,
/// G6).
@Suite("A hostile origin: totals")
struct TotalTests {
    static let claims = [
        "10000000000000000000", "99999999999999999999999999999999", "-5", "-9223372036854775809", "9007199254740993",
        #""10000000000000000000""#, #""-5""#, #""many""#, "\"\"", "1.5", "1e400", "1e18", "-0", "null", "true", "[6]",
        #"{"value":6}"#, "0", "1", "5", "7", "1000000",
    ]

    @Test(
        "A chain of six items is fetched completely and ends, whatever the claimed total is", .timeLimit(.minutes(20)),
        arguments: claims)
    func chain(claim: String) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            bench.origin.set(
                "/list",
                .answers { request in
                    .json(
                        request.parameter("after") == nil
                            ? GoodList.page(1...3, next: #""/list?after=3""#, total: claim)
                            : GoodList.page(4...6, total: claim))
                })
            try await expectBounded(bench)
        }
    }

    @Test(
        "A list of six items by offset is fetched completely with few requests, whatever the claimed total is",
        .timeLimit(.minutes(20)), arguments: claims)
    func offsets(claim: String) async throws {
        try await HostileBench.run { configuration in
            configuration.paging = .offset
            configuration.next = nil
        } _: { bench in
            bench.origin.set("/list", .answers { .json(TotalTests.slice($0, total: "6")) })
            #expect(try await bench.sync().outcome == .complete)
            try await bench.expectUnharmed(GoodList.all)
            bench.origin.set("/list", .answers { .json(TotalTests.slice($0, total: claim)) })
            try await expectBounded(bench)
        }
    }

    @Test(
        "A wrong total in the first answer is never exact unless it marks a result window, and the items are stored",
        .timeLimit(.minutes(20)), arguments: ["10000000000000000000", "-5", #""many""#, "1000000", "1.5"])
    func first(claim: String) async throws {
        try await HostileBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    .json(
                        request.parameter("after") == nil
                            ? GoodList.page(1...3, next: #""/list?after=3""#, total: claim)
                            : GoodList.page(4...6, total: claim))
                })
            let report = try await bench.sync()
            #expect(report.headFailure == nil)
            #expect(report.list?.record.end == 6)
            // Two full pages with a much larger total look like a result window (R24).
            let record = try #require(report.list?.record)
            #expect(
                record.total.exactCount == nil || record.resultWindow == 6, "six items do not match the claimed total")
            #expect(report.outcome == (record.isCutOff ? .limited : .complete))
            #expect(bench.asked.count <= 20)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    private func expectBounded(_ bench: HostileBench) async throws {
        for _ in 0..<2 {
            bench.clock.advance(by: .seconds(600))
            let before = bench.asked.count
            let report = try await bench.sync()
            #expect(bench.asked.count - before <= 60, "\(bench.asked.dropFirst(before).map(\.target))")
            let total = report.list?.record.total.count ?? 0
            #expect((0...ListTotal.largest).contains(total))
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    /// Returns the items from an offset on, at most three.
    private static func slice(_ request: HostileRequest, total: String) -> String {
        let offset = max(request.parameter("offset").flatMap { Int($0) } ?? 0, 0)
        let size = min(max(request.parameter("limit").flatMap { Int($0) } ?? 3, 1), 3)
        guard offset < 6 else { return #"{"total":\#(total),"items":[]}"# }
        return GoodList.page(offset + 1...min(offset + size, 6), total: total)
    }
}
#endif
