#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache purge`: removes queries with all their pages.
struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Remove queries, with all their pages.",
        discussion: """
            What is removed is gone from the file, too: its bytes are overwritten. While
            a reader is in the way, bytes may stay in the log. A warning says so then, and
            the next command that writes removes them. A purge that matches nothing is
            done.

            EXAMPLES
              pagecache purge 4k2m9xqa --dry-run
              pagecache purge --scope tenant-7 --yes
              pagecache purge --older-than 7d --yes
              pagecache purge --failed --yes
              pagecache purge --all --yes
            """)

    @Argument(help: "A query: its id, its key, or the beginning of either.", completion: .queries)
    var query: String?
    @Flag(help: "Every query.")
    var all = false
    @Option(help: "Every query of this scope.")
    var scope: String?
    @Flag(help: "Every query that was fetched, and is stale, or was invalidated.")
    var stale = false
    @Option(
        help: ArgumentHelp(
            "Age at which a query counts as stale, for --stale. Default: what the origin says, up to 1h; 60s where it does not.",
            valueName: "duration"))
    var staleAfter: DurationArgument?
    @Option(help: ArgumentHelp("Every query that was not validated for so long.", valueName: "duration"))
    var olderThan: DurationArgument?
    @Flag(help: "Every query all of whose pages failed, so that nothing is lost.")
    var failed = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        let chosen = [query != nil, all, scope != nil, stale, olderThan != nil, failed].count { $0 }
        guard chosen == 1 else {
            throw ValidationError("name one of: a query, --all, --scope, --stale, --older-than, --failed")
        }
        guard stale || staleAfter == nil else { throw ValidationError("--stale-after goes with --stale") }
    }

    func run() async throws {
        common.apply()
        try await common.withStore(consent.dryRun ? .readOnly : .mustExist) { store in
            let doomed = try await select(from: store, now: SystemClock().now())
            var report = PurgeReport(
                queries: doomed.count, pages: doomed.reduce(0) { $0 + $1.outline.pages.count },
                bytes: doomed.reduce(0) { $0 + $1.bytes })
            if !consent.dryRun, !doomed.isEmpty || all {
                if !doomed.isEmpty { try consent.ask("purge", about: "remove \(sentence(report))") }
                report = all ? try await store.purgeAll() : try await store.purge(doomed.map(\.outline.record.id))
            }
            write(report, doomed, consent.dryRun || report.queries == 0 && !all ? [] : store.filesSetAside)
        }
    }

    private func select(from store: PageStore, now: Timestamp) async throws -> [QuerySummary] {
        if let query {
            let record = try await QuerySelector.find(query, in: store)
            return try await store.summary(of: record.id).map { [$0] } ?? []
        }
        let queries = try await store.summaries()
        if let scope { return queries.filter { $0.outline.record.key.scope == scope } }
        if stale {
            let policy = FreshnessPolicy(operatorSays: staleAfter)
            return queries.filter { $0.outline.freshness(policy, now: now).map { $0 != .fresh } ?? false }
        }
        if let olderThan {
            return queries.filter { query in
                now - (query.outline.record.validatedAt ?? query.outline.record.createdAt) > olderThan.duration
            }
        }
        if failed {
            return queries.filter { query in
                query.outline.heldPages.isEmpty && !query.outline.ledger.isEmpty
                    && query.outline.ledger.allSatisfy(\.state.isFailure)
            }
        }
        return queries
    }

    private func sentence(_ report: PurgeReport) -> String {
        "\(report.queries) \(report.queries == 1 ? "query" : "queries"), \(SizeText.count(report.pages, "page", "pages")), \(SizeText.bytes(report.bytes))"
    }

    private func write(_ report: PurgeReport, _ doomed: [QuerySummary], _ setAside: [String]) {
        let terminal = Terminal.standard
        let members: [(String, JSONOutput)] = [
            ("dry_run", .bool(consent.dryRun)), ("queries", .int(report.queries)), ("pages", .int(report.pages)),
            ("bytes", .int(report.bytes)), ("may_remain_in_log", .bool(report.mayRemainInLog)),
        ]
        // A dry run lists the queries, so that users can see which ones would be removed.
        for query in consent.dryRun && common.outputFormat == .table ? doomed : [] {
            let key = query.outline.record.key
            terminal.print("\(key.shortID)  \(key.text)\(key.scope.isEmpty ? "" : "  (\(key.scope))")")
        }
        let text = "\(consent.dryRun ? "would remove" : "removed") \(sentence(report))"
        ResultTable.render(one: members, common.outputFormat, sentence: text, to: terminal)
        if !setAside.isEmpty {
            terminal.warn(
                "bytes of it may still be in damaged files that were set aside: \(setAside.joined(separator: ", ")); delete them once nobody needs them"
            )
        }
        if report.mayRemainInLog {
            terminal.warn(
                "bytes of it may still be in the log of the store, because a reader is in the way; once it is gone, the next command that writes removes them, for example 'pagecache gc --max-age 3650d'"
            )
        }
    }
}
#endif
