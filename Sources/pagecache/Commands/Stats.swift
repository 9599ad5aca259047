#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache stats`: the contents, the size and the savings of a store.
struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show sizes, hit rates and saved requests, by query and in total.",
        discussion: """
            The hit rate is the share of pages that were unchanged or needed no request.
            The saved requests are those of a client that fetches every page in every run,
            minus the sent ones. Both count the runs of 'pagecache sync' and 'pagecache
            retry'.

            EXAMPLES
              pagecache stats
              pagecache stats --json | jq .total.requests_saved
              pagecache stats --html report.html     a report for a browser
            """)

    @Option(
        help: ArgumentHelp("Also write a report with charts to this file.", valueName: "file"), completion: .file())
    var html: String?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if html?.isEmpty == true { throw ValidationError("--html is empty; give the path of a file to write") }
    }

    func run() async throws {
        common.apply()
        let (statistics, path, damaged) = try await common.withStore(.reading) { store in
            (try await store.statistics(), store.name, try await store.storedQueries().damagedCount)
        }
        if let html {
            let report = HTMLReport(
                statistics: statistics, store: path, now: statistics.queries.map(\.summary).readAt)
            let file = try AtomicFile(html)
            let result = Array(report.text.utf8).withUnsafeBytes { bytes in
                Result { () throws(ToolFailure) in try file.write(bytes) }
            }
            try result.get()
            try file.commit()
            Terminal.standard.note("report: \(html)")
        }
        StatsRendering(statistics: statistics, path: path).render(common.outputFormat, to: .standard)
        try DamagedRecords.end(damaged)
    }
}
#endif
