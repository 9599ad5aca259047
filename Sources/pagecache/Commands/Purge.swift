#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache purge`: removes queries with all their pages.
struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Remove queries with all their pages.",
        discussion: """
            A purge overwrites the removed bytes in the store file and in its write-ahead
            log. If a reader delays the overwriting in the log, purge warns, and the next
            writing command completes it. A PostgreSQL server removes the rows
            immediately; their bytes leave its disk when it vacuums the tables. If an
            option matches no query, the exit code is 0. If the named query does not
            exist, the exit code is 66. On a terminal, purge shows the queries and prompts
            first; a script needs --yes.

            EXAMPLES
              pagecache purge 4k2m9xqa --dry-run
              pagecache purge --scope tenant-7 --yes
              pagecache purge --older-than 7d --yes
              pagecache purge --failed --yes
              pagecache purge --all --yes
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String?
    @Flag(help: "Every query.")
    var all = false
    @Option(help: "Every query of this scope.")
    var scope: String?
    @Flag(help: "Every stale query. A query that was never fetched is not stale.")
    var stale = false
    @Option(
        help: ArgumentHelp(
            "For --stale: the age at which a query is stale. Default: the origin's max-age, at most 1h, else 60s.",
            valueName: "duration"))
    var staleAfter: DurationArgument?
    @Option(help: ArgumentHelp("Every query that was last validated longer ago than this.", valueName: "duration"))
    var olderThan: DurationArgument?
    @Flag(help: "Every query without a stored page whose fetches all failed.")
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
        try await common.withStore(consent.dryRun ? .reading : .writing) { store in
            let doomed = try await select(from: store, now: SystemClock().now())
            var report = PurgeReport(
                queries: doomed.count, pages: doomed.reduce(0) { $0 + $1.outline.pages.count },
                bytes: doomed.reduce(0) { $0 + $1.bytes })
            if !consent.dryRun, !doomed.isEmpty || all {
                if !doomed.isEmpty, try !consent.ask("purge", about: "remove \(named(doomed, report))") {
                    return write(PurgeReport(queries: 0, pages: 0, bytes: 0), [], [])
                }
                let ids = doomed.map(\.outline.record.id)
                report = try await BusyLine.whileDoing("removing \(sentence(report))") {
                    all ? try await store.purgeAll() : try await store.purge(ids)
                }
            }
            write(report, doomed, consent.dryRun || report.queries == 0 && !all ? [] : store.filesSetAside)
        }
    }

    private func select(from store: any ToolStore, now: Timestamp) async throws -> [QuerySummary] {
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
        "\(SizeText.count(report.queries, "query", "queries")), \(SizeText.count(report.pages, "page", "pages")), \(SizeText.bytes(report.bytes))"
    }

    /// The queries to remove, for the prompt: up to three by name.
    private func named(_ doomed: [QuerySummary], _ report: PurgeReport) -> String {
        let names = doomed.prefix(3).map { query in
            let record = query.outline.record
            let scope = record.key.scope.isEmpty ? "" : " (\(record.key.scope))"
            let url = ListRunner.url(of: record).flatMap { $0 == record.key.text ? nil : " (\($0))" } ?? ""
            return "'\(record.key.text)'\(scope)\(url)"
        }
        let more = doomed.count > names.count ? " and \(SizeText.count(doomed.count - names.count)) more" : ""
        return "\(names.joined(separator: ", "))\(more): \(sentence(report))"
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
        let text =
            report.queries == 0
            ? "nothing removed" : "\(consent.dryRun ? "would remove" : "removed") \(sentence(report))"
        ResultTable.render(one: members, common.outputFormat, sentence: text, to: terminal)
        if !setAside.isEmpty {
            terminal.warn(
                "damaged files that were set aside may still hold removed bytes: \(setAside.joined(separator: ", ")); delete the files when you no longer need them"
            )
        }
        if report.mayRemainInLog {
            terminal.warn(
                "the write-ahead log may still hold removed bytes, because another process reads the store; the next command that writes to the store removes these bytes"
            )
        }
    }
}
#endif
