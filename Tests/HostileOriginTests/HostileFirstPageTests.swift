#if Tool
import HostileOrigin
import HTTPPageSource
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// A good list is stored, and then its origin misbehaves. Every behaviour leads to a typed failure in the ledger, in
/// bounded time. The good pages stay unchanged (R14, R26, R27, R43, R45).
@Suite("A hostile origin: page one")
struct HostileFirstPageTests {
    @Test(
        "A misbehaving origin leaves the stored pages unchanged, and the ledger records the failure of each attempt",
        .timeLimit(.minutes(20)), arguments: Trouble.all)
    func pageOne(trouble: Trouble) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            try await bench.expectUnharmed(GoodList.all)
            let isTold = bench.asked.allSatisfy { $0.text.contains(Secret.header) && $0.text.contains(Secret.basic) }
            #expect(isTold, "the secrets are sent nevertheless")
            #expect(bench.asked.allSatisfy { $0.parameter("api_key") == Secret.key })

            bench.origin.set("/list", trouble.behaviour(bench.strangerRoot))
            if trouble.isEndless { bench.network.hurry() }
            for attempt in 1...2 {
                bench.clock.advance(by: .seconds(600))
                let before = bench.asked.count
                let began = ContinuousClock.now
                let report = try await bench.sync()
                // Other tests compete for the processor. An unbounded request would take minutes, or forever.
                #expect(began.duration(to: .now) < .seconds(55), "the request exceeded its deadline")
                #expect(bench.asked.count - before <= trouble.mostRequests, "the request was repeated without a pause")
                let failure = try #require(report.headFailure, "taken for a page")
                try expect(failure, trouble, report)
                try await expectLedger(bench, failure, attempt)
                try await bench.expectUnharmed(GoodList.all, report)
            }

            // With a good origin the list is complete again (G3).
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
        #expect(!failure.message.isEmpty && failure.message.utf8.count <= 300, "the message is a short text")
        #expect(!failure.message.unicodeScalars.contains { $0.value < 0x20 }, "the message is a single line")
        #expect(Secret.found(in: failure.message) == nil)
        #expect(report.outcome == (failure.isTransport ? .offline : failure.isRetryable ? .incomplete : .failed))
    }

    /// Expects a ledger entry for page one and no other failure (R26, R28).
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
        // The pauses are half of half a second and half of one second, because the injected random number is 0.5.
        let pause = Duration.milliseconds(250 * attempt)
        #expect(entry.nextAttemptAt == (failure.isRetryable ? bench.clock.now() + pause : nil))
    }
}
#endif
