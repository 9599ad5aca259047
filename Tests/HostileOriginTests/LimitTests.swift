#if Tool
import HTTPPageSource
import HostileOrigin
import PageModel
import PagedRepository
import Testing

/// Limits that only real sockets can show (R43): what is slow, what is packed, what is held open, and what is
/// cancelled.
@Suite("A hostile origin: limits")
struct LimitTests {
    private static let json = "Content-Type: application/json"

    @Test("a body that drips ends long before a long deadline, for being too slow", .timeLimit(.minutes(2)))
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
            #expect(began.duration(to: .now) < .seconds(30), "the whole body takes a quarter of an hour")
            #expect(report.headFailure?.failureClass == .timeout && report.headFailure?.isRetryable == true)
            #expect(report.headFailure?.message.contains("slow") == true, "\(report.headFailure?.message ?? "")")
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("a body that is slow, and no slower than is allowed, is had", .timeLimit(.minutes(2)))
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
        "a gigabyte in a megabyte: refused for what it is, whichever limit it meets first",
        .timeLimit(.minutes(2)), arguments: [("inflates", 64 << 20, 200), ("decompressed", 4 << 20, 100_000)])
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
            #expect(report.headFailure?.failureClass == .hostile)
            #expect(report.headFailure?.message.contains(word) == true, "\(report.headFailure?.message ?? "")")
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("many header fields, each of them small", .timeLimit(.minutes(2)), arguments: [(200, 400), (2_000, 8)])
    func fields(count: Int, length: Int) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            let fields = (0..<count).map { ("X-Field-\($0)", String(repeating: "x", count: length)) }
            bench.origin.set("/list", .answer(.json(GoodList.pageOne, fields)))
            let report = try await bench.sync()
            #expect(
                report.headFailure?.failureClass == .hostile, "\(report.headFailure?.message ?? "taken for a page")")
            #expect(report.headFailure?.message.contains("header") == true)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test(
        "an origin that keeps every connection to itself: whoever is cancelled is free at once, and nothing stays under way",
        .timeLimit(.minutes(2)))
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
            #expect(began.duration(to: .now) < .seconds(20), "the deadline is a minute away")
            #expect(report.outcome == .incomplete)
            #expect(try await bench.list.failures.isEmpty, "R37: cancelling is no failure")
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("R32: nobody listens any more: offline, and what is stored is served", .timeLimit(.minutes(2)))
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
