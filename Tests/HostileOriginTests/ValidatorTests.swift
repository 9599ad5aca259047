#if Tool
import Foundation
import HTTPPageSource
import HostileOrigin
import PageModel
import StorageSupport
import PagedRepository
import PagedRepositoryTesting
import Testing

/// Conditional answers, empty answers and cookies of an origin.
@Suite("A hostile origin: validators, empty answers, cookies")
struct ValidatorTests {
    private static func tagged(_ tag: String) -> Behaviour {
        .answers { request in
            if request.parameter("after") != nil { return .json(GoodList.page(4...6)) }
            let isSame = request.header("If-None-Match") == tag
            return isSame ? .status(304, [("ETag", tag)]) : .json(GoodList.pageOne, [("ETag", tag)])
        }
    }

    @Test(
        "An entity tag is sent back exactly as received, whether unquoted, weak or odd (R1)", .timeLimit(.minutes(20)),
        arguments: [
            #""v1""#, #"W/"v1""#, "v1", #""a,b c""#, "\"", "*", #"W/v1"#, #""é""#,
        ])
    func tags(tag: String) async throws {
        try await HostileBench.run { bench in
            bench.origin.set("/list", ValidatorTests.tagged(tag))
            #expect(try await bench.sync().outcome == .complete)
            bench.clock.advance(by: .seconds(600))
            let before = bench.asked.count
            let report = try await bench.sync()
            #expect(report.outcome == .complete)
            #expect(report.reconciliation == .unchanged)
            // The tag is sent unchanged, or not at all where it is invalid (RFC 9110, 8.8.3).
            #expect(bench.asked.dropFirst(before).allSatisfy { [nil, tag].contains($0.header("If-None-Match")) })
            #expect(bench.asked.count <= before + 2)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("A 304 answer to an unconditional request is a failure, also after page one")
    func uncalledFor() async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync { $0.maxPages = 1 }.outcome == .limited)
            bench.origin.set(
                "/list", .either({ $0.parameter("after") == nil }, GoodList.behaviour, or: .answer(.status(304))))
            let report = try await bench.sync()
            let entry = try #require(report.list?.failures.first)
            #expect(entry.offset == 3 && entry.state == .failedPermanent)
            #expect(entry.failure?.failureClass == .limitExceeded && entry.failure?.httpStatus == 304)
            try await bench.expectUnharmed(GoodList.payloads(1...3), report)
        }
    }

    @Test("Repeated 304 answers with new tags confirm the list each time and rewrite no page")
    func forEver() async throws {
        try await HostileBench.run { bench in
            bench.origin.set("/list", ValidatorTests.tagged(#""v1""#))
            #expect(try await bench.sync().outcome == .complete)
            bench.origin.set(
                "/list",
                .answers { request in
                    request.header("If-None-Match") == nil
                        ? .json(GoodList.pageOne) : .status(304, [("ETag", "\"v\(request.text.utf8.count)\"")])
                })
            for _ in 0..<3 {
                bench.clock.advance(by: .seconds(600))
                let before = bench.asked.count
                let report = try await bench.sync { $0.work = .refresh }
                #expect(report.headFailure == nil)
                #expect(bench.asked.count <= before + 2)
                try await bench.expectUnharmed(GoodList.all, report)
            }
        }
    }

    @Test(
        "An empty answer for a list with items is not accepted at once (R20)", .timeLimit(.minutes(20)),
        arguments: [
            RawAnswer.status(204), .json(#"{"total":0,"items":[],"next":null}"#),
            .json(#"{"total":6,"items":[],"next":null}"#),
            .json(#"{"total":6,"items":null,"next":null}"#),
        ])
    func empty(answer: RawAnswer) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            bench.clock.advance(by: .seconds(600))
            bench.origin.set("/list", .answer(answer))
            let report = try await bench.sync()
            #expect(
                report.headFailure?.failureClass == .unconfirmed, "\(report.headFailure?.message ?? "taken for a page")"
            )
            let entry = try #require(report.list?.failures.first)
            #expect(entry.offset == 0 && entry.state == .failedRetryable)
            #expect(entry.nextAttemptAt.map { $0 > bench.clock.now() } == true)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("A cookie from the origin is neither sent back nor stored")
    func cookies() async throws {
        try await HostileBench.run { bench in
            let cookies = [("Set-Cookie", "track=C00KIE; Max-Age=999999; Path=/"), ("Set-Cookie2", "older=C00KIE")]
            bench.origin.set(
                "/list",
                .answers { request in
                    if request.parameter("after") == nil, request.parameter("turn") == nil {
                        return .status(302, [("Location", "/list?turn=1")] + cookies)
                    }
                    return .json(request.parameter("after") == nil ? GoodList.pageOne : GoodList.page(4...6), cookies)
                })
            let report = try await bench.sync()
            #expect(report.outcome == .complete)
            bench.clock.advance(by: .seconds(600))
            _ = try await bench.sync()
            #expect(bench.asked.count >= 4)
            #expect(bench.asked.allSatisfy { $0.header("Cookie") == nil && !$0.text.contains("C00KIE") })
            for file in bench.folder.contents {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(bench.folder.path)/\(file)"))
                #expect(bytes.range(of: Data("C00KIE".utf8)) == nil, "\(file)")
            }
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("A request to an allowed other origin contains no secret (R45)")
    func allowed() async throws {
        let stranger = HostileOrigin()
        let root = try await stranger.start()
        stranger.set("/list", GoodList.behaviour)
        let result: Result<Void, any Error>
        do {
            try await HostileBench.run { configuration in
                configuration.allowedHosts = [String(root.dropFirst("http://".count))]
            } _: { bench in
                bench.origin.set("/list", .answers { .status(307, [("Location", "\(root)\($0.target)")]) })
                let report = try await bench.sync()
                #expect(report.headFailure == nil, "\(report.headFailure?.message ?? "")")
                #expect(try await bench.served.starts(with: GoodList.payloads(1...3)))
                #expect(!stranger.requests.isEmpty)
                #expect(
                    stranger.requests.allSatisfy { Secret.found(in: $0.text) == nil },
                    "\(stranger.requests.map(\.text))")
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await stranger.stop()
        try result.get()
    }
}
#endif
