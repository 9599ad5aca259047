#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache stats`: the contents, the size and the savings of a store.
struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show sizes, hit rates and requests saved, by query and in all.",
        discussion: """
            Hit rate: the share of pages that were up to date without a body being taken.
            Requests saved: what asking for every page in every run would have cost, less
            what was sent. Both are of runs of 'pagecache sync' and 'pagecache retry'; a
            program that embeds the library counts its own by PageStore.add.

            EXAMPLES
              pagecache stats
              pagecache stats --json | jq .total.requests_saved
              pagecache stats --html report.html     a page for a browser, without scripts
            """)

    @Option(
        help: ArgumentHelp("Write a report with charts to this file as well.", valueName: "file"), completion: .file())
    var html: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.apply()
        let (statistics, path) = try await common.withStore(.readOnly) { store in
            (try await store.statistics(), store.path)
        }
        if let html {
            let report = HTMLReport(statistics: statistics, store: path, now: SystemClock().now())
            let file = try AtomicFile(html)
            let result = Array(report.text.utf8).withUnsafeBytes { bytes in
                Result { () throws(ToolFailure) in try file.write(bytes) }
            }
            try result.get()
            try file.commit()
            Terminal.standard.note("report: \(html)")
        }
        StatsRendering(statistics: statistics, path: path).render(common.outputFormat, to: .standard)
    }
}
#endif
