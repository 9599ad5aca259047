#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache pin`: exempts a query from eviction, and lets `sync --due` keep it fresh.
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

/// `pagecache unpin`: makes a query evictable again, and `sync --due` no longer refreshes it.
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

/// `pagecache gc`: evicts pages until the store fits a budget.
struct CollectGarbage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gc",
        abstract: "Evict the least recently used pages until the store fits a budget.",
        discussion: """
            An evicted page leaves a gap in its list, and the next sync fetches it again.
            Pages of pinned queries stay.

            Deleting pages needs about 300 KB of free space for a log. On a fuller disk,
            only some pages or none are removed, and the exit code is 74. With --rewrite,
            gc then copies the remaining pages into memory, and writes them over the file.
            A crash during that write loses the store, so free space by other means if you
            can.

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
    @Flag(
        help: "On a full disk, hold the kept pages in memory and rewrite the file. A crash meanwhile loses the store.")
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
            // `evictRewritingFile` can close the store, so the damaged records are counted first.
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
            if error.code == .damaged, error.message.contains("only after a repair") {
                throw ToolFailure(
                    .unusableData, error.code.description, error.message,
                    hint: "\(Verify.makesRoomForRepair); \(Purge.makesRoom)")
            }
            guard error.code == .full else { throw error }
            throw ToolFailure(
                .inputOutput, error.code.description, error.message,
                hint: "\(remedy(error)); the pages that were not removed are safe")
        }
    }

    /// The note on a file that could not be shortened. The reason is a full disk, or the process's own limit on file
    /// sizes.
    func keeping(_ bytes: Int) -> String {
        let budgets = [
            maxBytes.map { "--max-bytes \($0.bytes)" }, maxAge.map { "--max-age \($0.defaultValueDescription)" },
        ]
        let command = (["pagecache gc"] + budgets.compactMap(\.self)).joined(separator: " ")
        let size = SizeText.bytes(bytes)
        let unused = "the file keeps \(size) that it does not use, because there is no room to shorten it"
        let again = "free some space, or raise 'ulimit -f', and run '\(command)' again"
        guard !rewrite else { return "\(unused); \(again)" }
        return "\(unused); \(again); '\(command) --rewrite' needs no space, see 'pagecache gc --help'"
    }

    private func remedy(_ error: StorageError) -> String {
        guard rewrite else {
            return "free that space, or raise 'ulimit -f', or see --rewrite in 'pagecache gc --help'"
        }
        return error.message.contains("another process has the store open, too")
            ? "end the other programs that use the store" : "free some space by other means"
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
            Terminal.standard.note(keeping(report.unreturnedBytes))
        }
        if common.outputFormat == .table, let most = maxBytes?.bytes, report.bytesLeft > most {
            Terminal.standard.note(Self.note(onPagesLeft: report, isFile: common.place.path != nil))
        }
    }

    /// The note on pages that stay beyond the budget.
    /// - Parameter isFile: whether the store is a file. The report of a store on a server counts no damaged pages.
    static func note(onPagesLeft report: EvictionReport, isFile: Bool) -> String {
        guard isFile else {
            return
                "the remaining pages belong to pinned queries, or are damaged ('pagecache verify' finds damaged pages)"
        }
        guard report.pagesDamaged > 0 else { return "the remaining pages belong to pinned queries" }
        let damaged = SizeText.count(
            report.pagesDamaged, "remaining page is damaged, or the record of its query is",
            "remaining pages are damaged, or the records of their queries are")
        return "\(damaged) ('pagecache verify' lists the damage); any other remaining page belongs to a pinned query"
    }
}
#endif
