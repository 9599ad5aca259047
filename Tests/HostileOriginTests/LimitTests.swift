#if Tool
import HTTPPageSource
import HostileOrigin
import PageModel
import PagedRepository
import Testing

/// Limits that need real sockets: slow, compressed, stalled and cancelled answers (R43).
@Suite("A hostile origin: limits")
struct LimitTests {
    private static let json = "Content-Type: application/json"

    @Test("A trickling answer fails as too slow, long before the request's deadline", .timeLimit(.minutes(20)))
    func drip() async throws {
        try await HostileBench.run { configuration in
            configuration.limits.requestTimeout = .seconds(3_600)
            configuration.limits.minimumThroughput = 1_024
            configuration.limits.throughputWindow = .milliseconds(500)
        } _: { bench in
            #expect(try await bench.sync().outcome == .complete)
            bench.origin.set(
                "/list",
                .script(
                    .head("HTTP/1.1 200 OK", LimitTests.json, "Content-Length: 100000"),
                    .drip([UInt8](repeating: 0x20, count: 100_000), every: .milliseconds(10))))
            let began = ContinuousClock.now
            let report = try await bench.sync()
            #expect(began.duration(to: .now) < .seconds(600), "the whole body would take a quarter of an hour")
            #expect(report.headFailure?.failureClass == .timeout && report.headFailure?.isRetryable == true)
            #expect(report.headFailure?.message.contains("slow") == true, "\(report.headFailure?.message ?? "")")
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("A slow body above the minimum throughput is accepted", .timeLimit(.minutes(20)))
    func slowAndFine() async throws {
        let gates = (Gate(), Gate())
        try await HostileBench.run { bench in
            let body = Array(GoodList.page(1...6).utf8)
            bench.origin.set(
                "/list",
                .script(
                    .head("HTTP/1.1 200 OK", LimitTests.json, "Content-Length: \(body.count)"),
                    .bytes(Array(body.prefix(9))),
                    .wait(gates.0), .bytes(Array(body[9..<20])), .wait(gates.1), .bytes(Array(body[20...]))))
            async let report = bench.sync()
            await bench.origin.arrival(of: 1)
            gates.0.open()
            gates.1.open()
            #expect(try await report.outcome == .complete)
            try await bench.expectUnharmed(GoodList.all)
        }
    }

    @Test(
        "A gigabyte compressed to a megabyte is refused by the first limit that it exceeds",
        .timeLimit(.minutes(20)), arguments: [("inflates", 64 << 20, 200), ("decompressed", 4 << 20, 100_000)])
    func bomb(word: String, size: Int, ratio: Int) async throws {
        try await HostileBench.run { configuration in
            configuration.limits.body = 32 << 20
            configuration.limits.decompressedBody = size
            configuration.limits.inflation = ratio
        } _: { bench in
            #expect(try await bench.sync().outcome == .complete)
            let bomb = Gzip.bomb(megabytes: 1_024)
            bench.origin.set(
                "/list",
                .script(
                    .head("HTTP/1.1 200 OK", LimitTests.json, "Content-Encoding: gzip", "Connection: close"),
                    .bytes(bomb.start),
                    .repeated(bomb.block, times: bomb.times), .close))
            let report = try await bench.sync()
            #expect(report.headFailure?.failureClass == .limitExceeded)
            #expect(report.headFailure?.message.contains(word) == true, "\(report.headFailure?.message ?? "")")
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("Many small header fields are refused", .timeLimit(.minutes(20)), arguments: [(200, 400), (2_000, 8)])
    func fields(count: Int, length: Int) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            let fields = (0..<count).map { ("X-Field-\($0)", String(repeating: "x", count: length)) }
            bench.origin.set("/list", .answer(.json(GoodList.pageOne, fields)))
            let report = try await bench.sync()
            #expect(
                report.headFailure?.failureClass == .limitExceeded,
                "\(report.headFailure?.message ?? "taken for a page")")
            #expect(report.headFailure?.message.contains("header") == true)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test(
        "Cancelling a run ends it at once although its origin stalls, and leaves no page in flight",
        .timeLimit(.minutes(20)))
    func cancelled() async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            bench.origin.set("/list", .script(.head("HTTP/1.1 200 OK", LimitTests.json, "Content-Length: 500"), .hang))
            let before = bench.origin.requests.count
            let running = Task { try await bench.sync() }
            await bench.origin.arrival(of: before + 1)
            let began = ContinuousClock.now
            running.cancel()
            let report = try await running.value
            #expect(began.duration(to: .now) < .seconds(55), "the deadline is a minute away")
            #expect(report.outcome == .incomplete)
            #expect(try await bench.list.failures.isEmpty, "a cancellation is not a failure (R37)")
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test(
        "An origin that no longer listens is reported as offline, and the stored items are served (R32)",
        .timeLimit(.minutes(20)))
    func gone() async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            await bench.origin.stop()
            let report = try await bench.sync()
            #expect(report.outcome == .offline)
            #expect(report.headFailure?.failureClass == .transport && report.headFailure?.isRetryable == true)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }
}
#endif
