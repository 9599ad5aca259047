#if Tool
import ArgumentParser
import DemoOrigin
import PageModel
import PagedRepository
import ProgramSupport
import Synchronization
import Testing
import ToolSupport

@testable import pagecache

/// What `sync` says about failures, and the next steps that it names.
extension FailureCommandTests {
    @Test("An incomplete list without a scheduled retry names the command that tries again")
    func noRetry() throws {
        func complaint(_ failures: [LedgerEntry]) throws -> String {
            let list = Sample.list([Sample.page(0..<100)], total: .exact(2_000), ledger: failures)
            var report = SyncReport(stored: list)
            report.outcome = .incomplete
            let common = try CommonOptions.parse([])
            return SyncRendering(report: report, key: list.record.key, url: "http://h/", common: common).complaint ?? ""
        }
        let id = Sample.list([]).record.key.shortID
        let abandoned = Sample.failing(100, next: nil)
        let refused = Sample.failing(200, next: nil, isRetryable: false)
        #expect(try complaint([abandoned, refused]).hasSuffix("and 'pagecache retry \(id)' tries again"))
        #expect(try complaint([refused]).hasSuffix("and 'pagecache retry \(id) --permanent' tries again"))
        #expect(try !complaint([refused, Sample.failing(300)]).contains("pagecache retry"))
    }

    @Test("The summary counts pages as pages, and failed and cancelled requests as requests")
    func requestCounts() throws {
        var report = SyncReport(stored: Sample.list([Sample.page(0..<100)], total: .exact(3_400)))
        (report.outcome, report.pagesFetched) = (.incomplete, 9)
        report.usage = SourceUsage(requests: 108, failures: 99)
        func sentence() throws -> String {
            SyncRendering(report: report, key: "k", url: "http://h/", common: try CommonOptions.parse([])).sentence
        }
        #expect(try sentence().contains("108 requests (9 pages fetched, 99 failed requests)"))
        report.usage = SourceUsage(requests: 11, failures: 1)
        report.usage.cancelled = 1
        #expect(try sentence().contains("11 requests (9 pages fetched, 1 failed request, 1 cancelled request)"))
        report.usage = SourceUsage(requests: 11, failures: 0)
        report.usage.unusable = 1
        #expect(try sentence().contains("11 requests (9 pages fetched, 1 probe, 1 unusable answer)"))
    }

    @Test("sync --due without due work names the time of the next retry")
    func nextRetry() async throws {
        let isBusy = Mutex(false)
        let origin = DemoOrigin(count: 300) { _, _ in
            isBusy.withLock { $0 } ? .status(503, retryAfter: 900) : nil
        }
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items"]).status == 0)
            isBusy.withLock { $0 = true }
            #expect(try await tool(["sync", "\(root)/items", "--wait", "0s"]).status == 75)
            let nothing = try await tool(["sync", "--due", "--stale-after", "1h"])
            #expect(nothing.status == 0)
            #expect(nothing.errors.hasPrefix("nothing is due; the next retry is due at 20"), "\(nothing.errors)")
        }
    }

    @Test("The first failing page is the one at the lowest position, and a refused page gets the hint of page one")
    func firstFailure() async throws {
        let failures = [
            Sample.failing(1_450, next: .seconds(1)),
            Sample.failing(
                100, next: nil, isRetryable: false, attempts: 1, "the origin answered 401", .forbidden),
        ]
        var report = SyncReport(stored: Sample.list([Sample.page(0..<100)], total: .exact(2_000), ledger: failures))
        report.outcome = .incomplete
        let complaint = try #require(
            SyncRendering(report: report, key: "k", url: "http://h/", common: try CommonOptions.parse([])).complaint)
        #expect(
            complaint.contains("2 pages failed, the first at position 100: the origin answered 401"), "\(complaint)")
        #expect(complaint.contains("give a credential with --bearer-env or --header-env"))
    }

    @Test(
        "A refused page one of a list with cached items names the command that shows them",
        arguments: [(404, 65), (410, 65), (401, 77), (403, 77)] as [(Int, Int32)])
    func refusedList(status: Int, exit: Int32) async throws {
        let faults = Faults([:])
        try await withOrigin(DemoOrigin(count: 300) { _, target in faults.fault(target) }) { root in
            let id = try #require(try await tool(["sync", "\(root)/items", "--json"]).json["query"] as? String)
            faults.fail([0: status])
            let refused = try await tool(["sync", id])
            #expect(refused.status == exit && refused.output.isEmpty)
            #expect(refused.errors.contains("the origin answered \(status) ("), "\(refused.errors)")
            #expect(refused.errors.contains("; 'pagecache show \(id)"), "\(refused.errors)")
            #expect(refused.errors.split(separator: "\n").count == 1, "\(refused.errors)")
            #expect(try await tool(["show", id]).status == 0)
            let unknown = try await tool(["sync", "\(root)/items?kind=other"])
            #expect(unknown.status == exit && !unknown.errors.contains("pagecache show"), "\(unknown.errors)")
        }
    }

    @Test("A sweep that a failing page stops names the failure, and the next sweep continues it")
    func stoppedSweep() async throws {
        let faults = Faults([:])
        let origin = DemoOrigin(count: 300) { _, target in faults.fault(target) }
        try await withOrigin(origin) { root in
            let id = try #require(try await tool(["sync", "\(root)/items", "--json"]).json["query"] as? String)
            faults.fail([250: 503])
            let stopped = try await tool(["sync", id, "--sweep", "--wait", "0s"])
            #expect(stopped.status == 75)
            #expect(stopped.errors.contains("incomplete: the sweep stopped at position 19"), "\(stopped.errors)")
            #expect(stopped.errors.contains(": the origin answered 503"), "\(stopped.errors)")
            #expect(stopped.errors.contains("'pagecache sync \(id) --sweep"), "\(stopped.errors)")
            #expect(stopped.errors.contains("; next attempt "), "\(stopped.errors)")
            #expect(!stopped.errors.contains("page failed"), "the failure is named once: \(stopped.errors)")
            let errors = try await tool(["errors", "--json"]).jsonArray
            #expect(errors.count == 1 && errors.first?["http_status"] as? Int == 503)
            #expect(errors.first?["offset"] as? Int == 199)
            #expect(try await tool(["list", "--json"]).jsonArray.first?["failing_pages"] as? Int == 1)
            #expect(try await tool(["why", id]).output.contains("The page at position 199 fails"))
            faults.mend()
            let swept = try await tool(["sync", id, "--sweep", "--json"])
            #expect(swept.status == 0, "\(swept.errors)")
            #expect(swept.json["reconciliation"] as? String == "swept")
            #expect(try await tool(["errors", "--json"]).output == "[]\n")
        }
    }
}
#endif
