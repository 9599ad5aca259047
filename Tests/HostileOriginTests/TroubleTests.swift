#if Tool
import HostileOrigin
import HTTPPageSource
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// A good list is stored; then its origin turns. Every behaviour is a typed failure in the ledger, in bounded time,
/// with the good pages as they were (R14, R26, R27, R43, R45).
@Suite("A hostile origin: page one")
struct TroubleTests {
    @Test(
        "what is stored stays, and the ledger tells what came instead; a second time too",
        .timeLimit(.minutes(2)), arguments: Trouble.all)
    func pageOne(trouble: Trouble) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            try await bench.expectUnharmed(GoodList.all)
            let isTold = bench.asked.allSatisfy { $0.text.contains(Secret.header) && $0.text.contains(Secret.basic) }
            #expect(isTold, "and yet they are sent")
            #expect(bench.asked.allSatisfy { $0.parameter("api_key") == Secret.key })

            bench.origin.set("/list", trouble.behaviour(bench.strangerRoot))
            if trouble.isEndless { bench.network.hurry() }
            for attempt in 1...2 {
                bench.clock.advance(by: .seconds(600))
                let before = bench.asked.count
                let began = ContinuousClock.now
                let report = try await bench.sync()
                // Beside hundreds of other tests; what is not bounded takes minutes, or for ever.
                #expect(began.duration(to: .now) < .seconds(20), "the deadline is not kept")
                #expect(bench.asked.count - before <= trouble.mostRequests, "asked again without a pause")
                let failure = try #require(report.headFailure, "taken for a page")
                try expect(failure, trouble, report)
                try await expectLedger(bench, failure, attempt)
                try await bench.expectUnharmed(GoodList.all, report)
            }

            // G3: when it is good again, all is as it was.
            bench.origin.set("/list", GoodList.behaviour)
            bench.network.takeTime()
            bench.clock.advance(by: .seconds(600))
            #expect(try await bench.sync().outcome == .complete)
            #expect(try await bench.list.failures.isEmpty)
            try await bench.expectUnharmed(GoodList.all)
        }
    }

    private func expect(_ failure: FetchFailure, _ trouble: Trouble, _ report: SyncReport) throws {
        #expect(trouble.classes.contains(failure.failureClass), "\(failure.failureClass.rawValue): \(failure.message)")
        if let isRetryable = trouble.isRetryable { #expect(failure.isRetryable == isRetryable, "\(failure.message)") }
        if let status = trouble.status { #expect(failure.httpStatus == status) }
        if let word = trouble.word { #expect(failure.message.contains(word), "\(failure.message)") }
        #expect(!failure.message.isEmpty && failure.message.utf8.count <= 300, "one short line")
        #expect(!failure.message.unicodeScalars.contains { $0.value < 0x20 }, "one line")
        #expect(Secret.found(in: failure.message) == nil)
        #expect(report.outcome == (failure.isTransport ? .offline : failure.isRetryable ? .incomplete : .failed))
    }

    /// R26, R28: the record of page one, and nobody else's.
    private func expectLedger(_ bench: HostileBench, _ failure: FetchFailure, _ attempt: Int) async throws {
        let failures = try await bench.list.failures
        let entry = try #require(failures.first)
        #expect(failures.count == 1 && entry.offset == 0)
        #expect(entry.state == (failure.isRetryable ? .failedRetryable : .failedPermanent))
        #expect(entry.attempts == attempt)
        #expect(entry.failure?.failureClass == failure.failureClass)
        #expect(entry.failure?.httpStatus == failure.httpStatus)
        #expect(entry.failure?.message == failure.message)
        #expect(entry.lastAttemptAt == bench.clock.now())
        // Half of half a second, and then half of one: the chance that is handed in is a half.
        let pause = Duration.milliseconds(250 * attempt)
        #expect(entry.nextAttemptAt == (failure.isRetryable ? bench.clock.now() + pause : nil))
    }
}
#endif
