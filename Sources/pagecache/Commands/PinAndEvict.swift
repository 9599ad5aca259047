#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache pin`: exempts a query from eviction.
struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keep a query fresh with 'sync --due', and never evict it.",
        discussion: """
            'pagecache sync --due', or a service with the library, refreshes a pinned
            query when it is stale, and fetches its missing pages. 'gc' evicts none of its
            pages.

            EXAMPLES
              pagecache pin 4k2m9xqa
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @OptionGroup var common: CommonOptions

    func run() async throws { try await setPinned(true, query, common) }
}

/// `pagecache unpin`: makes a query evictable again.
struct Unpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Unpin a query, so that 'sync --due' no longer refreshes it and 'gc' may evict it.",
        discussion: """
            EXAMPLES
              pagecache unpin 4k2m9xqa
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @OptionGroup var common: CommonOptions

    func run() async throws { try await setPinned(false, query, common) }
}

private func setPinned(_ isPinned: Bool, _ query: String, _ common: CommonOptions) async throws {
    common.apply()
    try await common.withStore(.writing) { store in
        let record = try await QuerySelector.find(query, in: store)
        try await store.setPinned(isPinned, record.id)
        ResultTable.render(
            one: [("query", .string(record.key.shortID)), ("pinned", .bool(isPinned))], common.outputFormat,
            sentence: isPinned
                ? "\(record.key.text) is pinned: 'sync --due' keeps it fresh, and 'gc' does not evict it"
                : "\(record.key.text) is not pinned")
    }
}

/// `pagecache gc`: applies budgets now.
struct CollectGarbage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gc",
        abstract: "Evict the least recently used pages until the store fits a budget.",
        discussion: """
            An evicted page leaves a gap in its list, and the next sync fetches it again.
            Pages of pinned queries stay.

            Deleting pages needs about 300 KB of free space for a log. On a disk without
            it, only some pages or none are removed, and the exit code is 74. With
            --rewrite the pages that stay are then held in memory and written over the
            file. A crash during that write loses the store, so free space by other means
            where you can.

            EXAMPLES
              pagecache gc --max-bytes 500M --dry-run
              pagecache gc --max-bytes 500M
              pagecache gc --max-age 30d
            """)

    @Option(help: ArgumentHelp("The maximum number of bytes of items to keep.", valueName: "size"))
    var maxBytes: SizeArgument?
    @Option(
        help: ArgumentHelp("Evict pages that were last read or fetched longer ago than this.", valueName: "duration"))
    var maxAge: DurationArgument?
    @Flag(name: [.customShort("n"), .long], help: "Show the effect, and change nothing.")
    var dryRun = false
    @Flag(help: "On a full disk, hold what stays in memory and rewrite the file. A crash meanwhile loses the store.")
    var rewrite = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard maxBytes != nil || maxAge != nil else {
            throw ValidationError("name a budget: --max-bytes, --max-age, or both")
        }
    }

    func run() async throws {
        common.apply()
        try await common.withStore(dryRun ? .reading : .writing) { store in
            let budget = EvictionBudget(bytes: maxBytes?.bytes, age: maxAge?.duration)
            // An eviction on a full disk closes the store, so the damaged records are counted before it.
            let damaged = try await store.storedQueries().damagedCount
            write(dryRun ? try await store.evictionPreview(to: budget, exempt: []) : try await evict(store, to: budget))
            try DamagedRecords.end(damaged)
        }
    }

    private func evict(_ store: any ToolStore, to budget: EvictionBudget) async throws -> EvictionReport {
        do throws(StorageError) {
            return rewrite
                ? try await store.evictRewritingFile(to: budget, exempt: [])
                : try await store.evict(to: budget, exempt: [])
        } catch {
            guard error.code == .full else { throw error }
            throw ToolFailure(
                .inputOutput, error.code.description, error.message,
                hint: "\(remedy(error)); the pages that were not removed are safe")
        }
    }

    private func remedy(_ error: StorageError) -> String {
        guard rewrite else { return "free 300 KB for the log, or see --rewrite in 'pagecache gc --help'" }
        return error.message.contains("the store is open elsewhere too")
            ? "end the other programs that use the store" : "free 300 KB by other means"
    }

    private func write(_ report: EvictionReport) {
        let removed = "\(SizeText.count(report.pages, "page", "pages")), \(SizeText.bytes(report.bytes))"
        let left = "\(SizeText.bytes(report.bytesLeft)) \(dryRun ? "would be" : "are") left"
        ResultTable.render(
            one: [
                ("dry_run", .bool(dryRun)), ("pages", .int(report.pages)), ("bytes", .int(report.bytes)),
                ("queries", .int(report.queries)), ("bytes_left", .int(report.bytesLeft)),
            ], common.outputFormat, sentence: "\(dryRun ? "would remove" : "removed") \(removed); \(left)")
        if report.unreturnedBytes > 0 {
            Terminal.standard.note(
                "the file keeps \(SizeText.bytes(report.unreturnedBytes)) that it does not use, because the disk has no room to shorten it; free some space and run 'pagecache gc' again"
            )
        }
        if common.outputFormat == .table, let most = maxBytes?.bytes, report.bytesLeft > most {
            Terminal.standard.note("the remaining pages belong to pinned queries")
        }
    }
}
#endif
