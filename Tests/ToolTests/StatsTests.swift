#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import PagedRepository
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

/// The size of a store and the saved requests, as numbers and as an HTML page.
@Suite("pagecache stats")
struct StatsTests {
    private let folder = Folder()

    @Test("Saved requests are those that fetching everything again would have cost")
    func saved() async throws {
        let origin = DemoOrigin(count: 1_050)
        try await withOrigin(origin) { root in
            let id = try #require(try await folder.tool(["sync", "\(root)/items", "--json"]).json["query"] as? String)
            func total() async throws -> [String: Any] {
                try #require(try await folder.tool(["stats", "--json"]).json["total"] as? [String: Any])
            }
            let first = try await total()
            #expect(first["items"] as? Int == 1_050)
            #expect(first["pages_ok"] as? Int == 11)
            #expect(first["requests"] as? Int == 11)
            #expect(first["requests_saved"] as? Int == 0)
            #expect(first["hit_rate"] as? Double == 0)
            _ = try await folder.tool(["sync", id])
            let second = try await total()
            #expect(second["runs"] as? Int == 2)
            #expect(second["requests"] as? Int == origin.requests.count)
            #expect(second["pages_kept"] as? Int == 10)
            #expect(second["requests_saved"] as? Int == 10)
            #expect(second["hit_rate"] as? Double == 0.5)
        }
        // Pages held while the origin is unavailable do not count as saved.
        #expect(try await folder.tool(["sync", "127.0.0.1", "--quiet"]).status == 75)
        let json = try await folder.tool(["stats", "--json"]).json
        #expect((json["total"] as? [String: Any])?["pages_kept"] as? Int == 10)
        let store = try #require(json["store"] as? [String: Any])
        #expect(
            store["file_bytes"] as? Int
                == (try FileManager.default.attributesOfItem(atPath: folder.store)[.size] as? Int))
        #expect((json["queries"] as? [[String: Any]])?.count == 1)
    }

    @Test(
        "The total of the saved requests is the sum of the rows, also when one query sent more requests than it has pages"
    )
    func sum() async throws {
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let tallies = [RunTally(runs: 1, requests: 2, pagesKept: 24), RunTally(runs: 3, requests: 361, pagesKept: 11)]
        for (key, tally) in zip(["a", "b"] as [QueryKey], tallies) {
            try await store.add(tally, to: try await store.register(key, at: noon).id, at: noon)
        }
        let statistics = try await store.statistics()
        await store.close()
        #expect(statistics.requestsSaved == 22)
        let json = try await folder.tool(["stats", "--json"]).json
        #expect((json["queries"] as? [[String: Any]])?.compactMap { $0["requests_saved"] as? Int } == [22, 0])
        #expect((json["total"] as? [String: Any])?["requests_saved"] as? Int == 22)
        #expect(try await folder.tool(["stats"]).output.contains("and saved 22\n"))
        let report = HTMLReport(statistics: statistics, store: "s", now: Sample.now).text
        #expect(report.contains("<b>22</b><span>requests saved</span>"))
    }

    @Test("The client of the comparison fetches pages without overlaps, and one request for each page of a chain")
    func overlaps() {
        // 1,000 items in pages of 5, of which each later one repeats an item.
        let later = stride(from: 5, to: 1_000, by: 4).map { Sample.page($0..<min($0 + 4, 1_000)) }
        let pages = [Sample.page(0..<5)] + later
        var list = Sample.list(pages, total: .exact(1_000))
        func report() -> SyncReport {
            var report = SyncReport(stored: list)
            report.reconciliation = .shifted
            report.usage = SourceUsage(requests: 1)
            return report
        }
        #expect(Savings(report(), storedBytes: nil)?.text == "1 request instead of 200")
        // Two runs: the first load with a probe, and a refresh of page one.
        let tally = RunTally(
            runs: 2, requests: pages.count + 2, pagesFetched: pages.count + 1, pagesKept: pages.count - 1)
        func saved() -> Int {
            StoreStatistics.Query(summary: QuerySummary(outline: list, bytes: 0), tally: tally).requestsSaved
        }
        #expect(saved() == 2 * 200 - (pages.count + 2))
        list.record.paging = "cursor"
        #expect(Savings(report(), storedBytes: nil)?.withoutStore == pages.count)
        #expect(saved() == 2 * pages.count - (pages.count + 2))
    }

    @Test("stats prints each query and the total in every format")
    func formats() async throws {
        try await fill()
        let csv = try await folder.tool(["stats", "--format", "csv"]).output.split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(csv[0].hasPrefix("query,key,scope,items,pages,bytes,"))
        #expect(csv[3].hasPrefix(",,,200,2,"))
        let lines = try await folder.tool(["stats", "--format", "ndjson"]).output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.last?.hasPrefix(#"{"query":null,"key":null,"scope":null,"items":200,"#) == true)
        let table = try await folder.tool(["stats"]).output
        #expect(table.contains("in all"))
        #expect(table.contains("no run was counted yet"))
    }

    @Test("--html replaces the file with one self-contained page, and leaves no temporary file")
    func html() async throws {
        try await fill()
        let file = "\(folder.path)/report.html"
        try "old".write(toFile: file, atomically: false, encoding: .utf8)
        let ended = try await folder.tool(["stats", "--html", file, "--json"])
        #expect(ended.status == 0, "\(ended.errors)")
        #expect((ended.json["total"] as? [String: Any])?["items"] as? Int == 200)
        let page = try String(contentsOfFile: file, encoding: .utf8)
        #expect(page.hasPrefix("<!DOCTYPE html>"))
        #expect(page.hasSuffix("</html>\n"))
        for forbidden in ["<script", "src=", "href=", "url(", "@import", "<b onclick", "\u{1b}"] {
            #expect(!page.contains(forbidden), "\(forbidden)")
        }
        #expect(page.contains("default-src 'none'"))
        #expect(page.contains("prefers-color-scheme:dark"))
        #expect(page.contains("&lt;b onclick=&quot;x&quot;&gt;&amp;"))
        #expect(page.contains("<svg class=\"map\""))
        #expect(!folder.contents.contains { $0.contains("partial") })
    }

    @Test("A report that cannot be written is an error with its code, and leaves no file")
    func unwritable() async throws {
        try await fill()
        #expect(try await folder.tool(["stats", "--html", "\(folder.path)/none/report.html"]).status == 73)
        #expect(try await folder.tool(["stats", "--html", folder.path]).status == 73)
        #expect(folder.contents.allSatisfy { $0.hasPrefix("store.sqlite") })
    }

    @Test("The page closes its tags, lists failures, and draws at most a fixed number of lists")
    func page() {
        func query(_ number: Int) -> StoreStatistics.Query {
            let pages = [Sample.page(0..<100), Sample.page(150..<200, age: .seconds(90))]
            let list = Sample.list(
                pages, total: .exact(250), ledger: number == 7 ? [Sample.failing(100)] : [],
                key: QueryKey("list \(number)"))
            return StoreStatistics.Query(
                summary: QuerySummary(outline: list, bytes: number),
                tally: RunTally(runs: 1, requests: 3, pagesFetched: 3, pagesKept: number))
        }
        let statistics = StoreStatistics(
            queries: (0..<250).map(query), fileBytes: 90_000, logBytes: 4_096, freeBytes: 8_192, schema: 1)
        let text = HTMLReport(statistics: statistics, store: "/tmp/store.sqlite", now: Sample.now).text
        for tag in [
            "section", "article", "table", "tr", "td", "svg", "div", "span", "p", "h2", "h3", "title", "main", "i",
        ] {
            let opened =
                text.components(separatedBy: "<\(tag)>").count + text.components(separatedBy: "<\(tag) ").count - 2
            #expect(opened == text.components(separatedBy: "</\(tag)>").count - 1, "\(tag)")
        }
        #expect(text.components(separatedBy: "<article>").count - 1 == HTMLReport.drawn)
        #expect(text.contains("and 50 more lists"))
        #expect(text.contains("150 of 250 items · 2 pages · 7 B · 1 failing page · offset"))
        #expect(text.contains("the origin answered 500"))
        // Numbers and headings do not wrap on a narrow screen, where the table scrolls sideways.
        #expect(text.contains("<div class=\"wide\"><table>"))
        #expect(text.contains("<th class=\"number\">position</th>"))
        #expect(text.contains("th,.number{white-space:nowrap}"))
        // Failing lists come first.
        #expect(text.range(of: "<h3>list 7 ")!.lowerBound < text.range(of: "<h3>list 249 ")!.lowerBound)
        #expect(text.contains("<rect class=\"gap\" x=\"80.0%\" y=\"20\" width=\"20.0%\""))
        #expect(text.contains("<title>200–249: gap</title>"))
    }

    @Test("The page shows the freshness that each list has by its own record")
    func freshness() {
        var list = Sample.list([Sample.page(0..<100, age: .seconds(300))], total: .exact(100), validated: .seconds(300))
        func page() -> String {
            let query = StoreStatistics.Query(summary: QuerySummary(outline: list, bytes: 1), tally: RunTally())
            return HTMLReport(
                statistics: StoreStatistics(queries: [query], fileBytes: 1, logBytes: 0, freeBytes: 0, schema: 1),
                store: "s", now: Sample.now
            ).text
        }
        #expect(page().contains("stale, validated 5 min ago"))
        #expect(page().contains("<rect class=\"stale\""))
        list.record.freshFor = .seconds(600)
        #expect(page().contains("fresh, validated 5 min ago"))
        #expect(page().contains("<rect class=\"fresh\""))
        list.record.invalidatedAt = Sample.ago(.seconds(10))
        #expect(page().contains("stale, validated 5 min ago, invalidated 10 s ago"))
    }

    @Test("An empty store has a page, too")
    func emptyPage() {
        let statistics = StoreStatistics(queries: [], fileBytes: 0, logBytes: 0, freeBytes: 0, schema: 1)
        let text = HTMLReport(statistics: statistics, store: "s", now: Sample.now).text
        #expect(text.contains("No page fails."))
        #expect(text.contains("No run was counted yet."))
        #expect(!text.contains("nan"))
    }

    /// Creates two lists. The name of one contains markup and a terminal escape.
    private func fill() async throws {
        for key in ["http://h/plain", #"<b onclick="x">&"# + "\u{1b}"] {
            try await folder.writeListWithGap(QueryKey(key))
        }
    }
}
#endif
