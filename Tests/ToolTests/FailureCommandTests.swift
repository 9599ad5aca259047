#if Tool
import ArgumentParser
import DemoOrigin
import Foundation
import PageModel
import PageStore
import PagedRepository
import ProgramSupport
import StorageSupport
import Synchronization
import Testing
import ToolSupport

@testable import pagecache

/// The commands for failures: `errors`, `why`, `retry`, `sync --due`.
@Suite("pagecache with an origin that fails in places")
struct FailureCommandTests {
    let folder = Folder()

    /// Faults of the origin until `mend`: a page that contains one of these positions is answered with its status.
    final class Faults: Sendable {
        private let statuses: Mutex<[Int: Int]>

        init(_ statuses: [Int: Int]) { self.statuses = Mutex(statuses) }

        func mend() { fail([:]) }
        func fail(_ statuses: [Int: Int]) { self.statuses.withLock { $0 = statuses } }

        func fault(_ target: String) -> DemoOrigin.Fault? {
            let offset = target.firstMatch(of: /offset=(\d+)/).flatMap { Int($0.1) } ?? 0
            return statuses.withLock { $0.first { (offset..<offset + 100).contains($0.key) }?.value }.map {
                .status($0, retryAfter: nil)
            }
        }
    }

    func tool(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", folder.store], environment: environment)
    }

    /// Creates a list of 300 items with some failing pages. Each request includes the item before its page, so that the
    /// pages begin at 0, 100, 199 and 298 (R21).
    private func withFailing<Value>(
        _ statuses: [Int: Int], _ body: (_ id: String, DemoOrigin, Faults) async throws -> Value
    ) async throws -> Value {
        let faults = Faults(statuses)
        let origin = DemoOrigin(count: 300) { _, target in faults.fault(target) }
        return try await withOrigin(origin) { root in
            let ended = try await tool(["sync", "\(root)/items", "--wait", "0s", "--json"])
            #expect(ended.status == 75, "\(ended.errors)")
            return try await body(try #require(ended.json["query"] as? String), origin, faults)
        }
    }

    @Test("errors lists failing pages in every format, and prints no entry without failures")
    func errors() async throws {
        try await withFailing([250: 500]) { id, origin, faults in
            let json = try await tool(["errors", "--json"])
            #expect(json.status == 0)
            let entry = try #require(json.jsonArray.first)
            #expect(json.jsonArray.count == 1)
            #expect(entry["query"] as? String == id)
            #expect(entry["offset"] as? Int == 199)
            #expect(entry["state"] as? String == "failed_retryable")
            #expect(try #require(entry["attempts"] as? Int) >= 1)
            #expect(entry["error_class"] as? String == "server")
            #expect(entry["http_status"] as? Int == 500)
            #expect(entry["next_attempt_at"] is String)
            #expect(try await tool(["errors", "--format", "ndjson"]).json["offset"] as? Int == 199)
            let csv = try await tool(["errors", "--format", "csv"]).output.split(separator: "\n")
            #expect(csv.count == 2)
            #expect(csv[0].hasPrefix("query,key,scope,offset,state,attempts,"))
            #expect(csv[1].hasPrefix("\(id),"))
            let table = try await tool(["errors"])
            #expect(table.output.firstMatch(of: /199 +retrying +\d+ .* 500 +the origin answered 500/) != nil)
            // The heading, the query, and the page.
            #expect(table.output.split(separator: "\n").count == 3)

            faults.mend()
            #expect(try await tool(["sync", id, "--quiet"]).status == 0)
            #expect(try await tool(["errors", "--json"]).output == "[]\n")
            let none = try await tool(["errors"])
            #expect(none.output.isEmpty)
            #expect(
                none.errors == "no page fails; 'pagecache list --store \(folder.store)' shows the age of each query\n")
        }
    }

    @Test("errors sorts entries of several lists by the next attempt, with entries without one last")
    func order() async throws {
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        func fail(_ key: QueryKey, _ offset: Int, _ next: Timestamp?) async throws {
            let query = try await store.register(key, at: noon).id
            let failure = FetchFailure(
                .server, "the origin answered \u{1b}[31m500", isRetryable: next != nil, httpStatus: 500)
            try await store.record(
                [.failed(offset: offset, failure: failure, nextAttemptIn: next.map { $0 - noon })], for: query, at: noon
            )
        }
        try await fail("a", 10, nil)
        try await fail("b", 20, noon + .seconds(60))
        try await fail("c", 30, noon)
        try await fail("a", 40, noon + .seconds(30))
        await store.close()
        #expect(
            try await tool(["errors", "--json"]).jsonArray.compactMap { $0["offset"] as? Int } == [30, 40, 20, 10])
        // The text of an origin cannot control the terminal (R46).
        let table = try await tool(["errors"]).output
        #expect(!table.contains("\u{1b}"))
        #expect(table.contains("\\u{1b}[31m500"))
    }

    @Test("errors has one row for all pages of a query with the same failure, with their number and range")
    func groups() {
        let key: QueryKey = "http://h/items"
        let failures = (1..<40).map { (key, Sample.failing($0 * 50, next: .seconds($0), attempts: $0 % 3 + 1)) }
        let (lines, _) = Errors.grouped(
            failures + [(key, Sample.failing(7, "the origin answered 404"))], now: Sample.now
        )
        .lines(width: .max)
        #expect(lines.count == 4, "\(lines)")
        #expect(lines[2].firstMatch(of: /^ *39  50–1,950  retrying +3  in 1 s/) != nil, "\(lines)")
        #expect(lines[3].firstMatch(of: /^ *1 +7  retrying/) != nil)
        #expect(Errors.table(failures, now: Sample.now).rows.count == 39)
    }

    @Test("why explains a list and a position in every format")
    func why() async throws {
        try await withFailing([250: 500]) { id, _, _ in
            let table = try await tool(["why", id])
            #expect(table.status == 0)
            #expect(table.output.hasPrefix("\(id)  http://127.0.0.1"))
            #expect(table.output.contains("202 of 300 items are held; the positions 199–296 are missing."))
            #expect(table.output.contains("The page at position 199 fails: the origin answered 500"))
            #expect(table.output.contains("pagecache retry \(id)"))
            let json = try await tool(["why", id, "--offset", "250", "--json"]).json
            #expect(json["query"] as? String == id)
            #expect(json["offset"] as? Int == 250)
            let sentences = try #require(json["sentences"] as? [[String: String]])
            #expect(sentences.first?["topic"] == "holding")
            #expect(sentences.first?["text"] == "Position 250 is missing: nothing is held at 199–296.")
            #expect(sentences.contains { $0["topic"] == "failure" })
            #expect(try await tool(["why", id, "--format", "csv"]).output.hasPrefix("topic,text\nholding,"))
            let lines = try await tool(["why", id, "--format", "ndjson"]).output.split(separator: "\n")
            #expect(lines.allSatisfy { $0.hasPrefix(#"{"topic":""#) })
            #expect(try await tool(["why", id, "--offset", "-1"]).status == 64)
            #expect(try await tool(["why", "nothing"]).status == 66)
        }
    }

    @Test("retry fetches only the failed pages")
    func retry() async throws {
        try await withFailing([150: 500]) { id, origin, faults in
            faults.mend()
            let before = origin.requests.count
            let ended = try await tool(["retry", id, "--json"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.jsonArray.count == 1)
            #expect(ended.jsonArray.first?["pages"] as? Int == 1)
            let result = try #require(ended.jsonArray.first?["result"] as? [String: Any])
            #expect(result["outcome"] as? String == "complete")
            #expect(result["items"] as? Int == 300)
            let asked = origin.requests.dropFirst(before)
            #expect(asked.count == 1)
            #expect(asked.allSatisfy { $0.contains("offset=99") })
            #expect(try await shownIDs(folder, id) == origin.ids)
            #expect(try await tool(["errors", "--json"]).output == "[]\n")
            let again = try await tool(["retry"])
            #expect(again.status == 0)
            #expect(again.errors == "no page fails\n")
        }
    }

    @Test("A retry that fails again ends with 75, reports it, and keeps the schedule")
    func failsAgain() async throws {
        try await withFailing([250: 500]) { id, _, _ in
            func attempts() async throws -> Int {
                try #require(try await tool(["errors", "--json"]).jsonArray.first?["attempts"] as? Int)
            }
            let before = try await attempts()
            let ended = try await tool(["retry", "--wait", "0s"])
            #expect(ended.status == 75)
            #expect(ended.output.hasPrefix("\(id): incomplete"))
            #expect(ended.errors.hasPrefix("pagecache: \(id): incomplete: 98 positions"))
            #expect(try await attempts() > before)
        }
    }

    @Test("retry skips permanent failures without --permanent, also next to retryable ones (R33)")
    func permanent() async throws {
        try await withFailing([150: 500, 250: 403]) { id, origin, faults in
            faults.mend()
            let before = origin.requests.count
            let first = try await tool(["retry", id])
            // The fetched page is not the whole list.
            #expect(first.status == 75)
            #expect(first.output.hasPrefix("\(id): incomplete"), "\(first.output)")
            #expect(
                first.errors.contains(
                    "1 page failed permanently; --permanent retries it (add --bearer-env VAR if the origin needs a credential)"
                ))
            #expect(origin.requests.count == before + 1)
            #expect(try await tool(["errors", "--json"]).jsonArray.compactMap { $0["offset"] as? Int } == [199])
            let none = try await tool(["retry", "--json", "--quiet"])
            #expect(none.status == 0)
            #expect(
                none.errors
                    == #"{"notice":{"level":"reason","message":"no page was retried: 1 page failed permanently; --permanent retries it (add --bearer-env VAR if the origin needs a credential)"}}"#
                    + "\n"
            )
            #expect(none.output == "[]\n")
            #expect(origin.requests.count == before + 1)
            #expect(try await tool(["retry", "--permanent", "--quiet"]).status == 0)
            #expect(origin.requests.count == before + 2)
            #expect(try await shownIDs(folder, id) == origin.ids)
        }
    }

    @Test("A retry of page one and of a later page is complete once both are fetched")
    func pageOneToo() async throws {
        try await withFailing([250: 403]) { id, origin, faults in
            faults.fail([50: 403, 250: 403])
            #expect(try await tool(["sync", id]).status == 77)
            #expect(try await tool(["errors", "--json"]).jsonArray.count == 2)
            faults.mend()
            let ended = try await tool(["retry", id, "--permanent", "--json"])
            #expect(ended.status == 0, "\(ended.errors)")
            let result = try #require(ended.jsonArray.first?["result"] as? [String: Any])
            #expect(result["outcome"] as? String == "complete")
            #expect(result["items"] as? Int == 300)
            #expect(try await shownIDs(folder, id) == origin.ids)
        }
    }

    @Test("The outcome of runs on parts of a list is that of the whole list, and other outcomes stay")
    func wholeList() {
        func outcome(_ list: ListOutline, _ ended: SyncReport.Outcome) -> SyncReport.Outcome {
            var report = SyncReport(stored: list)
            report.outcome = ended
            return report.ofWholeList().outcome
        }
        let whole = Sample.list([Sample.page(0..<300)], total: .exact(300))
        let part = Sample.list([Sample.page(0..<200)], total: .exact(300))
        let failing = Sample.list([Sample.page(0..<300)], total: .exact(300), ledger: [Sample.failing(100)])
        #expect(outcome(whole, .incomplete) == .complete)
        #expect(outcome(part, .complete) == .incomplete)
        #expect(outcome(failing, .complete) == .incomplete)
        #expect(outcome(whole, .unproven) == .unproven)
        var onePage = part
        onePage.record.paging = "none"
        #expect(SyncReport(stored: onePage).outcome == .unproven, "no run fetches more of it")
    }

    @Test("retry --no-run makes pages due without a request, and sync --due fetches them once")
    func noRun() async throws {
        try await withFailing([250: 403]) { id, origin, faults in
            faults.mend()
            // On a busy machine the commands take longer than the minute for which page one is fresh by default.
            let due = ["sync", "--due", "--stale-after", "1h"]
            let before = origin.requests.count
            #expect(try await tool(due + ["--json"]).output == "[]\n", "the failure is permanent")
            let ended = try await tool(["retry", "--permanent", "--no-run", "--json"])
            #expect(ended.jsonArray.first?["result"] is NSNull)
            #expect(try await tool(["retry", "--permanent", "--no-run"]).output == "\(id): 1 page is due now\n")
            #expect(try await tool(["errors"]).output.contains("due"))
            #expect(origin.requests.count == before)

            let fetched = try await tool(due + ["--json"])
            #expect(fetched.status == 0, "\(fetched.errors)")
            #expect(fetched.jsonArray.map { $0["query"] as? String } == [id])
            #expect(fetched.jsonArray.first?["outcome"] as? String == "complete")
            #expect(origin.requests.count == before + 1)
            #expect(try await shownIDs(folder, id) == origin.ids)
            let nothing = try await tool(due)
            #expect(nothing.status == 0)
            #expect(nothing.errors == "nothing is due\n")
            #expect(origin.requests.count == before + 1)
        }
    }

    @Test("sync --due refreshes stale pinned lists and no others")
    func pinned() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let id = try #require(try await tool(["sync", "\(root)/items", "--json"]).json["query"] as? String)
            _ = try await tool(["sync", "\(root)/items?sort=up"])
            let before = origin.requests.count
            #expect(try await tool(["sync", "--due", "--stale-after", "0s", "--json"]).output == "[]\n")
            _ = try await tool(["pin", id])
            #expect(try await tool(["sync", "--due", "--stale-after", "1h", "--json"]).output == "[]\n")
            #expect(origin.requests.count == before)
            let due = try await tool(["sync", "--due", "--stale-after", "0s", "--json"])
            #expect(due.jsonArray.map { $0["query"] as? String } == [id])
            #expect(due.jsonArray.first?["reconciliation"] as? String == "unchanged")
            #expect(origin.requests.count == before + 1)
            // A list that was fetched this very moment is refreshed again, as often as the command runs.
            let csv = try await tool(["sync", "--due", "--stale-after", "0s", "--format", "csv"]).output.split(
                separator: "\n")
            #expect(csv.count == 2)
            #expect(try #require(csv.first).hasPrefix("query,key,paging,outcome,"))
            #expect(origin.requests.count == before + 2)
        }
    }

    @Test(
        "sync --due accepts no URL and no option that selects work",
        arguments: [
            ["--due", "http://h/"], ["--due", "--refresh"], ["--due", "--sweep"], ["--due", "--offline"],
            ["--due", "--scope", "a"], [],
        ])
    func usage(arguments: [String]) async throws {
        let ended = try await tool(["sync"] + arguments)
        #expect(ended.status == 64)
        #expect(ended.errors.split(separator: "\n").count == 1)
        #expect(folder.contents.isEmpty)
    }

    @Test(
        "A command without a store ends with 66 and creates no file",
        arguments: [
            ["errors"], ["stats"], ["retry"], ["why", "x"], ["sync", "--due"], ["pages", "x", "--map"],
        ])
    func noStore(arguments: [String]) async throws {
        #expect(try await tool(arguments).status == 66)
        #expect(folder.contents.isEmpty)
    }
}
#endif
