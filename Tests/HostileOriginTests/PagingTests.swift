#if Tool
import HostileOrigin
import HTTPPageSource
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// Page one is good and stored. The pages after it are endless or circular (R24). Fetched pages are kept, the rest is
/// a failure in the ledger, and the requests end.
@Suite("A hostile origin: endless pages")
struct PagingTests {
    /// A chain of pages that never ends properly. `behaviour` answers the requests after page one.
    struct Circle: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The number of items that are stored in the end: those of page one and of some following pages.
        let items: Int
        /// The largest allowed number of requests until the loop is detected.
        var mostRequests = 50
        let behaviour: @Sendable (HostileRequest) -> RawAnswer

        /// A good page one, followed by this behaviour.
        var withPageOne: Behaviour {
            .answers { request in
                guard request.parameter("after") == nil else { return behaviour(request) }
                return .json(GoodList.page(1...3, next: #""/list?after=3""#, total: "null"))
            }
        }
    }

    private static func page(_ range: ClosedRange<Int>, next: String) -> RawAnswer {
        .json(GoodList.page(range, next: "\"/list?after=\(next)\"", total: "null"))
    }

    /// Returns the position in the request. The request after page one has `after=3`, and the others follow the next
    /// links.
    private static func after(_ request: HostileRequest) -> Int { request.parameter("after").flatMap { Int($0) } ?? 3 }

    static let circles: [Circle] = [
        Circle(testDescription: "a page that is followed by itself", items: 6) { _ in page(4...6, next: "3") },
        Circle(testDescription: "two pages that follow each other", items: 9) { request in
            after(request) == 3 ? page(4...6, next: "6") : page(7...9, next: "3")
        },
        Circle(testDescription: "page one again and again, each with another way on", items: 3) { request in
            page(1...3, next: "\(after(request) + 1)")
        },
        Circle(testDescription: "the same new page again and again, each with another way on", items: 6) { request in
            page(4...6, next: "\(after(request) + 1)")
        },
        Circle(testDescription: "empty pages, each with another way on", items: 3, mostRequests: 1_010) { request in
            .json(#"{"total":null,"items":[],"next":"/list?after=\#(after(request) + 1)"}"#)
        },
    ]

    @Test(
        "A circular list fails permanently with loop, and keeps the items before it (R24)", .timeLimit(.minutes(20)),
        arguments: circles)
    func loops(circle: Circle) async throws {
        try await HostileBench.run { bench in
            bench.origin.set("/list", circle.withPageOne)
            #expect(try await bench.sync { $0.maxPages = 1 }.outcome == .limited)
            try await bench.expectUnharmed(GoodList.payloads(1...3))

            let report = try await bench.sync()
            #expect(report.headFailure == nil)
            #expect(report.outcome == .unproven, "the list is not reported as complete")
            let failure = try #require(report.list?.failures.first)
            #expect(failure.failure?.failureClass == .loop, "\(failure.failure?.message ?? "")")
            #expect(failure.state == .failedPermanent && failure.nextAttemptAt == nil)
            #expect(failure.offset == circle.items)
            #expect(bench.asked.count <= circle.mostRequests, "\(bench.asked.map(\.target))")
            try await bench.expectUnharmed(GoodList.payloads(1...circle.items), report)
        }
    }

    @Test(
        "An endless list is fetched up to the limit of pages per list (R43)", .timeLimit(.minutes(20)),
        arguments: [
            HTTPSourceConfiguration.Paging.nextURL, .offset, .page,
        ])
    func endless(paging: HTTPSourceConfiguration.Paging) async throws {
        try await HostileBench.run { configuration in
            configuration.paging = paging
            configuration.total = nil
            if paging != .nextURL { configuration.next = nil }
        } _: { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let start: Int =
                        switch paging {
                        case .offset: request.parameter("offset").flatMap { Int($0) } ?? 0
                        case .page: ((request.parameter("page").flatMap { Int($0) } ?? 1) - 1) * 50
                        default: request.parameter("after").flatMap { Int($0) } ?? 0
                        }
                    let next = paging == .nextURL ? "\"/list?after=\(start + 50)\"" : "null"
                    return .json(GoodList.page(start + 1...start + 50, next: next, total: "null"))
                })
            #expect(try await bench.sync { $0.maxPages = 1 }.outcome == .limited)
            let report = try await bench.sync { $0.pagesPerQuery = 10 }
            #expect(report.outcome != .complete, "the list is known to have more items")
            #expect(report.warnings.contains { $0.contains("10 pages") }, "\(report.warnings)")
            #expect(bench.asked.count <= 30)
            let items = try await bench.served
            #expect((200...600).contains(items.count))
            try await bench.expectUnharmed(GoodList.payloads(1...items.count), report)
        }
    }

    @Test(
        "Equal items for every offset are a loop, whatever the claimed total is (R24)", .timeLimit(.minutes(20)),
        arguments: [
            "null", "1000000", "9007199254740991",
        ])
    func deafToOffsets(total: String) async throws {
        try await HostileBench.run { configuration in
            configuration.paging = .offset
            configuration.next = nil
        } _: { bench in
            bench.origin.set("/list", .answer(.json(GoodList.page(1...3, total: total))))
            #expect(try await bench.sync { $0.maxPages = 1 }.headFailure == nil)
            let report = try await bench.sync()
            #expect(report.outcome != .complete || report.list?.record.total.exactCount != Int(total))
            #expect(bench.asked.count <= 100)
            let failures = report.list?.failures ?? []
            #expect(failures.allSatisfy { $0.failure?.failureClass == .loop })
            try await bench.expectUnharmed(GoodList.payloads(1...3), report)
        }
    }

    @Test("An empty or short page with a next link is not the end of the list (R24)")
    func notTheEnd() async throws {
        try await HostileBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    switch request.parameter("after") {
                    case nil: PagingTests.page(1...3, next: "3")
                    case "3": .json(#"{"total":null,"items":[],"next":"/list?after=3b"}"#)
                    case "3b": PagingTests.page(4...4, next: "4")
                    default: .json(GoodList.page(5...7, total: "null"))
                    }
                })
            let report = try await bench.sync()
            #expect(report.outcome == .complete)
            try await bench.expectUnharmed(GoodList.payloads(1...7), report)
        }
    }

    @Test("Repeated ids within a page and across pages are kept and reported (R25)")
    func duplicates() async throws {
        try await HostileBench.run { bench in
            let twice = "\(GoodList.item(1)),\(GoodList.item(1)),\(GoodList.item(2))"
            bench.origin.set(
                "/list",
                .answers { request in
                    request.parameter("after") == nil
                        ? .json(#"{"total":6,"items":[\#(twice)],"next":"/list?after=3"}"#)
                        : .json(
                            #"{"total":6,"items":[\#(GoodList.item(2)),\#(GoodList.item(3)),\#(GoodList.item(4))],"next":null}"#
                        )
                })
            let report = try await bench.sync()
            #expect(report.headFailure == nil && report.list?.failures.isEmpty == true)
            #expect(report.warnings.contains { $0.contains("repeats") }, "\(report.warnings)")
            #expect(bench.asked.count <= 20)
            let items = [1, 1, 2, 2, 3, 4].flatMap { GoodList.payloads($0...$0) }
            try await bench.expectUnharmed(items, report)
        }
    }

    @Test(
        "An unusable page after page one fails alone, and the next run fetches page one and that page again",
        .timeLimit(.minutes(20)), arguments: [Trouble.brokenMessages[5], Trouble.bodies[0], Trouble.oversized[0]])
    func follower(trouble: Trouble) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync { $0.maxPages = 1 }.outcome == .limited)
            let hostile = trouble.behaviour(bench.strangerRoot)
            bench.origin.set("/list", .either({ $0.parameter("after") == nil }, GoodList.behaviour, or: hostile))
            let report = try await bench.sync()
            #expect(report.headFailure == nil)
            let entry = try #require(report.list?.failures.first)
            #expect(entry.offset == 3 && entry.attempts == 1)
            #expect(entry.failure.map { trouble.classes.contains($0.failureClass) } == true)
            #expect(report.outcome == .incomplete)
            try await bench.expectUnharmed(GoodList.payloads(1...3), report)

            bench.origin.set("/list", GoodList.behaviour)
            bench.clock.advance(by: .seconds(600))
            let before = bench.asked.count
            #expect(try await bench.sync().outcome == .complete)
            #expect(bench.asked.count == before + 2)
            try await bench.expectUnharmed(GoodList.all)
        }
    }
}
#endif
