#if Tool
import ArgumentParser
import PageModel
import PagedRepository
import Testing
@testable import pagecache

/// Next steps in `why` and `gc`: commands that work, and the time from which others do.
@Suite("Next steps in pagecache why and gc")
struct NextStepTests {
    private func sentences(_ list: ListOutline, _ topic: Explanation.Topic) -> [String] {
        Explanation(of: list, now: Sample.now).sentences.filter { $0.topic == topic }.map(\.text)
    }

    @Test("gc names --rewrite where a file could not be shortened, unless it was given")
    func unreturned() throws {
        let plain = try CollectGarbage.parse(["--max-bytes", "2M"]).keeping(4_400_000)
        #expect(plain.hasPrefix("the file keeps 4.4 MB that it does not use"))
        #expect(plain.contains("'pagecache gc --max-bytes 2000000 --rewrite' needs no space"))
        #expect(try !CollectGarbage.parse(["--max-bytes", "2M", "--rewrite"]).keeping(1).contains("needs no space"))
    }

    @Test("A requested pause that is longer than the longest one says that the next attempt is earlier, and why")
    func longRetryAfter() throws {
        var entry = Sample.failing(100, next: .seconds(3_600))
        entry.retryAfterUntil = Sample.now + .seconds(7_200)
        let list = Sample.list([Sample.page(0..<100)], total: .exact(200), ledger: [entry])
        #expect(
            sentences(list, .failure).last
                == "The origin asks for no request before 2027-01-15T10:00:00.000Z (Retry-After). The next attempt is earlier, because a list waits at most 60 min for Retry-After."
        )
        #expect(sentences(list, .next).first?.contains("at 2027-01-15T09:00:00.000Z") == true)
        func complaint(_ list: ListOutline) throws -> String? {
            var report = SyncReport(stored: list)
            report.outcome = .incomplete
            let common = try CommonOptions.parse([])
            return SyncRendering(report: report, key: "k", url: "http://h/", common: common).complaint
        }
        let reason = "next attempt 2027-01-15T09:00:00.000Z (a list waits at most 60 min for Retry-After)"
        #expect(try complaint(list)?.hasSuffix(reason) == true)
        entry.retryAfterUntil = entry.nextAttemptAt
        let followed = Sample.list([Sample.page(0..<100)], total: .exact(200), ledger: [entry])
        #expect(try complaint(followed)?.hasSuffix("next attempt 2027-01-15T09:00:00.000Z") == true)
    }

    @Test("An incomplete list without failures names the command that continues it, and a retry in the past is due")
    func continues() throws {
        func complaint(_ list: ListOutline, _ change: (inout SyncReport) -> Void = { _ in }) throws -> String? {
            var report = SyncReport(stored: list)
            change(&report)
            let common = try CommonOptions.parse([])
            return SyncRendering(report: report, key: list.record.key, url: "http://h/", common: common).complaint
        }
        let list = Sample.list([Sample.page(0..<100)], total: .exact(200))
        let command = "'pagecache sync \(list.record.key.shortID)'"
        #expect(try complaint(list) == "incomplete: 100 positions in 1 gap are missing; \(command) continues")
        #expect(
            try complaint(Sample.list([Sample.page(0..<100)]))
                == "incomplete: the end of the list is not reached; \(command) continues")
        #expect(try complaint(list) { $0.pagesNotStored = 1 } == "incomplete: 100 positions in 1 gap are missing")
        #expect(try complaint(list) { $0.outcome = .damaged }?.contains("continues") == false)
        for past in [Duration.zero, .seconds(-180)] {
            let failing = Sample.list(
                [Sample.page(0..<100)], total: .exact(200), ledger: [Sample.failing(100, next: past)])
            #expect(try complaint(failing)?.hasSuffix("; the next attempt is due, and \(command) starts it") == true)
        }
        let later = Sample.list(
            [Sample.page(0..<100)], total: .exact(200), ledger: [Sample.failing(100, next: .milliseconds(1))])
        #expect(try complaint(later)?.hasSuffix("; next attempt 2027-01-15T08:00:00.001Z") == true)
    }

    @Test("A list of one page that may be a part says so, whatever its evidence is")
    func onePage() throws {
        var list = Sample.list([Sample.page(0..<50)])
        list.record.paging = "none"
        var report = SyncReport(stored: list)
        report.outcome = .unproven
        let common = try CommonOptions.parse([])
        #expect(
            SyncRendering(report: report, key: "k", url: "http://h/", common: common).complaint
                == "unproven: page one may be a part of the list, and no request for more items is known; 50 items are stored"
        )
    }

    @Test("A longer --timeout is advised for an answer that takes too long, and not for one that is too slow")
    func slowAnswers() {
        func hint(_ message: String) -> String? {
            ToolFailure(fetching: "http://h/", FetchFailure(.timeout, message, isRetryable: true), cached: nil).hint
        }
        #expect(hint("the answer arrives too slowly, below 1024 bytes a second") == "try again later")
        #expect(hint("no complete answer within 60 s") == "try again later, or with a longer --timeout")
    }

    @Test("A run whose check of a whole list failed names the failure, and not a changing list")
    func failedCheck() throws {
        var report = SyncReport(stored: Sample.list([Sample.page(0..<100)], total: .exact(100)))
        report.outcome = .incomplete
        func complaint() throws -> String? {
            let common = try CommonOptions.parse([])
            return SyncRendering(report: report, key: "k", url: "http://h/", common: common).complaint
        }
        report.warnings = ["the origin's total goes up and down, and counts as an estimate"]
        #expect(try complaint() == "incomplete: the origin's total goes up and down, and counts as an estimate")
        report.headFailure = .status(503)
        #expect(try complaint() == "incomplete: a check of the list failed: the origin answered 503")
    }

    @Test("A refused page is retried with a credential")
    func refusedPage() {
        let entry = Sample.failing(100, next: nil, isRetryable: false, "the origin answered 401", .forbidden)
        let list = Sample.list([Sample.page(0..<100)], total: .exact(200), ledger: [entry])
        let command = "'pagecache retry \(list.record.key.shortID) --permanent --bearer-env VAR'"
        #expect(sentences(list, .next).contains { $0.contains(command) })
    }

    @Test("An interrupted sweep names the command that continues it now, and the time from which 'sync --due' does")
    func interruptedSweep() {
        let sweep = SweepProgress(position: 50, startedAt: Sample.ago(.seconds(60)))
        let id = Sample.list([]).record.key.shortID
        func next(_ age: Duration, _ ledger: [LedgerEntry] = []) -> String {
            let list = Sample.list(
                [Sample.page(0..<100)], total: .exact(100), validated: age, ledger: ledger, sweep: sweep)
            return sentences(list, .next).first { $0.hasPrefix("A sweep") } ?? ""
        }
        #expect(
            next(.seconds(5)).hasSuffix(
                "; 'pagecache sync \(id) --sweep' continues from there, and so does 'pagecache sync --due' from 2027-01-15T08:00:55.000Z on."
            ))
        #expect(next(.seconds(90)).hasSuffix("; the next 'pagecache sync --due' continues from there."))
        #expect(
            next(.seconds(90), [Sample.failing(0)]).hasSuffix(
                "'pagecache sync --due' from 2027-01-15T08:00:30.000Z on."))
        #expect(
            next(.seconds(90), [Sample.failing(50)]).hasSuffix(
                "'pagecache sync --due' from 2027-01-15T08:00:30.000Z on."))
        #expect(
            next(.seconds(90), [Sample.failing(70)])
                .hasSuffix("; the next 'pagecache sync --due' continues from there."))
        for place in [0, 50] {
            #expect(
                next(.seconds(90), [Sample.failing(place, next: nil, isRetryable: false)]).hasSuffix(
                    "; 'pagecache sync \(id) --sweep' continues from there."))
        }
    }

    @Test("A list that holds no item is stale, even if page one was validated just now")
    func nothingHeld() {
        let list = Sample.list([], total: .exact(203))
        #expect(
            sentences(list, .freshness) == [
                "The list is stale: page one was validated 5 s ago, but no item is held any more."
            ])
        #expect(list.freshnessText(now: Sample.now) == "stale (nothing held)")
        #expect(Sample.list([], total: .exact(0)).freshnessText(now: Sample.now) == "fresh (5 s)")
    }
}
#endif
