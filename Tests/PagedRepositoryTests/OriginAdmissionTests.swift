import PageModel
import Testing

@testable import PagedRepository

@Suite("Admission of a list to its origin")
struct OriginAdmissionTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    /// An admission with room for three lists, two of them at one origin. An origin is unreachable for 30 seconds after
    /// two runs without a response.
    private func admission(_ change: (inout EngineOptions) -> Void = { _ in }) -> OriginAdmission {
        var options = EngineOptions()
        options.lists = 3
        options.listsPerOrigin = 2
        options.sync.transportFailuresUntilOffline = 2
        change(&options)
        return OriginAdmission(options.bounded)
    }

    private func query(_ number: Int64) -> QueryID { QueryID(rawValue: number) }

    @Test("The admission limits the lists at one origin and in all, and a list that ends makes room")
    func room() {
        var admission = admission()
        let begun = [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "b")].map { number, origin in
            admission.begin(query(number), at: origin, now: now)
        }
        #expect(begun == [.go, .go, .full, .go, .full])
        #expect([1, 2, 3, 4, 5].map { admission.isRunning(query($0)) } == [true, true, false, true, false])
        admission.ended(query(1))
        #expect(!admission.isRunning(query(1)))
        #expect(admission.decision(at: "b", now: now) == .go)
    }

    @Test("The admission always has room for one list, whatever the options say")
    func leastRoom() {
        let admission = admission { ($0.lists, $0.listsPerOrigin) = (0, -1) }
        #expect(admission.decision(at: "a", now: now) == .go)
    }

    @Test(
        "An origin without a response twice in a row is unreachable, and one list probes it; others are not affected (R32)"
    )
    func away() {
        var admission = admission()
        let first = admission.record(.noResponse, of: "a", now: now),
            second = admission.record(.noResponse, of: "a", now: now)
        #expect(first == nil)
        #expect(second == .opened)
        #expect(admission.isUnavailable("a") && !admission.isUnavailable("b"))
        #expect(admission.decision(at: "a", now: now) == .wait(until: now + .seconds(30)))
        #expect(admission.decision(at: "b", now: now) == .go)

        let later = now + .seconds(30)
        // Asking for the answer does not use up the probe. Beginning a list does.
        for _ in 0..<2 { #expect(admission.decision(at: "a", now: later) == .go) }
        let probe = admission.begin(query(1), at: "a", now: later),
            other = admission.begin(query(2), at: "a", now: later)
        #expect(probe == .go)
        #expect(other == .wait(until: later + .seconds(30)))
        #expect(!admission.isRunning(query(2)))

        let nothing = admission.record(.nothing, of: "a", now: later),
            silent = admission.record(.noResponse, of: "a", now: later)
        #expect(nothing == nil && silent == nil, "the origin was unreachable before")
        let heard = admission.record(.response, of: "a", now: later),
            again = admission.record(.response, of: "a", now: later)
        #expect(heard == .closed)
        #expect(again == nil)
        #expect(!admission.isUnavailable("a"))
    }

    @Test("After a restart the ledger shows which origins are unreachable, and since when (R32)")
    func restored() {
        var admission = admission()
        func failing(_ number: Int64, attempts: Int, _ age: Duration, _ failureClass: FetchFailure.Class = .timeout)
            -> DueFetch
        {
            let entry = LedgerEntry(
                offset: 0, state: .failedRetryable, attempts: attempts, lastAttemptAt: now + (.zero - age),
                nextAttemptAt: now,
                failure: FetchFailure(failureClass, "m", isRetryable: true))
            return DueFetch(query: query(number), entry: entry)
        }
        let due = [
            // Two lists of one origin count together, from the last failure on.
            failing(1, attempts: 1, .seconds(20)), failing(2, attempts: 1, .seconds(10)),
            failing(1, attempts: 1, .seconds(25)),
            failing(3, attempts: 1, .seconds(5)),
            // An origin that answered with a failure is not away. A list without an origin is ignored.
            failing(4, attempts: 9, .seconds(5), .server), failing(9, attempts: 9, .seconds(5)),
        ]
        let away = admission.restore(from: due) { [1: "a", 2: "a", 3: "b", 4: "c"][$0.rawValue] }
        #expect(away == ["a"])
        #expect(admission.decision(at: "a", now: now) == .wait(until: now + .seconds(20)))
        #expect(["b", "c", "d"].allSatisfy { admission.decision(at: $0, now: now) == .go })
        // The count of missing responses continues from the ledger.
        let turn = admission.record(.noResponse, of: "b", now: now)
        #expect(turn == .opened)
    }

    // MARK: Result of a run

    private func report(
        _ outcome: SyncReport.Outcome, fetched: Int = 0, unchanged: Int = 0, head: FetchFailure? = nil,
        originAnswered: Bool = false, lostOrigin: Bool = false,
        page failure: FetchFailure? = nil
    ) -> SyncReport {
        let record = QueryRecord(
            id: query(1), key: "list", version: ListVersion(generation: 1, revision: 0), total: .unknown, end: nil,
            validatedAt: now,
            createdAt: now, allowsDuplicates: false, paging: "offset", source: "")
        let entries = failure.map {
            LedgerEntry(
                offset: 50, state: .failedRetryable, attempts: 1, lastAttemptAt: now, nextAttemptAt: now, failure: $0)
        }
        var report = SyncReport(
            stored: ListOutline(record: record, pages: [], ledger: entries.map { [$0] } ?? [], readAt: now))
        report.outcome = outcome
        (report.pagesFetched, report.pagesUnchanged, report.headFailure) = (fetched, unchanged, head)
        (report.originAnswered, report.lostOrigin) = (originAnswered, lostOrigin)
        return report
    }

    @Test("A run reports that its origin responded, did not respond, or got no request")
    func reachability() {
        let timeout = FetchFailure(.timeout, "m", isRetryable: true),
            refusal = FetchFailure(.server, "m", isRetryable: true)
        func reachability(_ report: SyncReport, since moment: Timestamp? = nil) -> OriginAdmission.Reachability {
            OriginAdmission.Reachability(report, since: moment ?? now)
        }
        #expect(reachability(report(.offline, lostOrigin: true)) == .noResponse)
        #expect(
            reachability(report(.incomplete, fetched: 3, originAnswered: true, lostOrigin: true)) == .noResponse,
            "the origin became unreachable during the run")
        #expect(reachability(report(.complete, fetched: 1, originAnswered: true)) == .response)
        #expect(reachability(report(.complete)) == .nothing, "the run made no request")
        #expect(reachability(report(.failed, head: timeout)) == .noResponse)
        #expect(reachability(report(.failed, head: refusal, originAnswered: true)) == .response)
        #expect(reachability(report(.incomplete, page: timeout)) == .noResponse)
        #expect(reachability(report(.incomplete, unchanged: 1, originAnswered: true, page: timeout)) == .response)
        #expect(
            reachability(report(.incomplete, page: timeout), since: now + .seconds(1)) == .nothing,
            "the failure belongs to another run")
    }
}
