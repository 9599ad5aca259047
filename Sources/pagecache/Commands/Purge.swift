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
            log. If a reader or a full disk delays the overwriting, purge warns, and the
            next writing command completes it. A PostgreSQL server removes the rows
            immediately; their bytes leave its disk when it vacuums the tables.

            A query with a damaged record is removed if its stored name matches. On a
            terminal, purge shows the queries and prompts first; a script needs --yes.

            EXIT CODES
               0  done, also when an option matches no query
              65  a damaged record may match, and is not removed
              66  the named query does not exist

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
    @Option(
        help: ArgumentHelp(
            "Every query that was last validated longer ago than this, or was created before that time and never fetched.",
            valueName: "duration"))
    var olderThan: DurationArgument?
    @Flag(help: "Every query that holds no page, and whose fetches all failed.")
    var failed = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        let given: [String?] = [
            query.map { "'\($0)'" }, all ? "--all" : nil, scope.map { _ in "--scope" }, stale ? "--stale" : nil,
            olderThan.map { _ in "--older-than" }, failed ? "--failed" : nil,
        ]
        let chosen = given.compactMap { $0 }
        guard !chosen.isEmpty else {
            throw ValidationError("name one of: a query, --all, --scope, --stale, --older-than, --failed")
        }
        guard chosen.count == 1 else {
            throw ValidationError("\(chosen.joined(separator: " and ")) exclude each other; name one of them")
        }
        guard stale || staleAfter == nil else {
            throw ValidationError("--stale-after is the age for --stale; add --stale, or use --older-than")
        }
    }

    /// The queries to remove.
    private struct Selection {
        var sound: [QuerySummary] = []
        /// Queries whose records are damaged and whose stored names match.
        var damaged: [StoredQueries.Damaged] = []
        /// The number of damaged records that may match and stay.
        var undecided = 0

        var ids: [QueryID] { sound.map(\.outline.record.id) + damaged.map(\.id) }
        var keys: [QueryKey] { sound.map(\.outline.record.key) + damaged.map(\.key) }
        var report: PurgeReport {
            PurgeReport(
                queries: sound.count + damaged.count,
                pages: sound.reduce(damaged.reduce(0) { $0 + $1.pages }) { $0 + $1.outline.pages.count },
                bytes: sound.reduce(damaged.reduce(0) { $0 + $1.bytes }) { $0 + $1.bytes })
        }
    }

    func run() async throws {
        common.apply()
        try await common.withStore(consent.dryRun ? .reading : .writing) { store in
            let selection = try await select(from: store, now: try await store.now())
            var report = selection.report
            if !consent.dryRun, !selection.ids.isEmpty || all {
                if !selection.ids.isEmpty, try !consent.ask("purge", about: "remove \(named(selection))") {
                    return write(PurgeReport(queries: 0, pages: 0, bytes: 0), [], [])
                }
                report = try await BusyLine.whileDoing("removing \(sentence(report))") {
                    all ? try await store.purgeAll() : try await purge(selection.ids, from: store)
                }
            }
            write(report, selection.keys, consent.dryRun || report.queries == 0 && !all ? [] : store.filesSetAside)
            if selection.undecided > 0 {
                throw ToolFailure(
                    .unusableData, "damaged",
                    DamagedRecords.sentence(selection.undecided)
                        + ", and \(selection.undecided == 1 ? "stays" : "stay") in the store",
                    hint:
                        "\(DamagedRecords.remedy(selection.undecided)), and 'pagecache purge --all' removes every query"
                )
            }
        }
    }

    private func purge(_ queries: [QueryID], from store: any ToolStore) async throws -> PurgeReport {
        do throws(StorageError) {
            return try await store.purge(queries)
        } catch {
            guard error.code == .full else { throw error }
            throw ToolFailure(
                .inputOutput, error.code.description, error.message,
                hint:
                    "free some space, and run the command again; until then the queries stay, and some of their pages may be gone; other queries are safe; 'pagecache gc' needs less space, see 'pagecache gc --help'"
            )
        }
    }

    private func select(from store: any ToolStore, now: Timestamp) async throws -> Selection {
        let stored = try await store.storedQueries()
        if let query { return try await select(query, among: stored, in: store) }
        var chosen = Selection(sound: try await chosen(try await store.summaries(), now: now))
        // `purgeAll` removes the records that cannot be read, too.
        chosen.damaged =
            all ? stored.damaged : scope.map { scope in stored.damaged.filter { $0.key.scope == scope } } ?? []
        if !all { chosen.undecided = undecided(in: stored, without: chosen.damaged) { _ in scope == nil } }
        return chosen
    }

    /// Selects the query with this name. A damaged record counts if its stored name matches.
    private func select(_ name: String, among stored: StoredQueries, in store: any ToolStore) async throws -> Selection
    {
        var chosen = Selection()
        chosen.damaged = QuerySelector.matches(name, stored.damaged.map(\.key)).map { stored.damaged[$0] }
        // If the name also matches another query, a damaged record is removed only by its whole key or id, not by a
        // prefix.
        if chosen.damaged.count > 1 || QuerySelector.matches(name, stored.records.map(\.key)).count > 0 {
            chosen.damaged.removeAll { $0.key.text != name && $0.key.shortID != name }
        }
        if chosen.damaged.isEmpty {
            let record = try QuerySelector.find(name, in: stored)
            chosen.sound = try await store.summary(of: record.id).map { [$0] } ?? []
            return chosen
        }
        if let record = try? QuerySelector.find(name, among: stored.records) {
            chosen.sound = try await store.summary(of: record.id).map { [$0] } ?? []
        }
        chosen.undecided = undecided(in: stored, without: chosen.damaged) { _ in false }
        return chosen
    }

    /// Returns the number of damaged records that stay and may match. A damaged record whose stored name is intact
    /// counts only when `mayMatch` returns true. All records that cannot be read at all count as one.
    private func undecided(
        in stored: StoredQueries, without chosen: [StoredQueries.Damaged],
        mayMatch: (StoredQueries.Damaged) -> Bool
    ) -> Int {
        let removed = Set(chosen.map(\.id))
        let left = stored.damaged.filter { !removed.contains($0.id) && (!$0.hasItsName || mayMatch($0)) }
        return left.count + (stored.hasUnreadable ? 1 : 0)
    }

    private func chosen(_ queries: [QuerySummary], now: Timestamp) async throws -> [QuerySummary] {
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
    private func named(_ selection: Selection) -> String {
        let urls = selection.sound.map { ListRunner.url(of: $0.outline.record) } + selection.damaged.map { _ in nil }
        let names = zip(selection.keys, urls).prefix(3).map { key, url in
            let scope = key.scope.isEmpty ? "" : " (\(key.scope))"
            let url = url.flatMap { $0 == key.text ? nil : " (\($0))" } ?? ""
            return "'\(key.text)'\(scope)\(url)"
        }
        let more = selection.keys.count - names.count
        let others = more > 0 ? " and \(SizeText.count(more)) more" : ""
        return "\(names.joined(separator: ", "))\(others): \(sentence(selection.report))"
    }

    /// The last remedy for a full disk.
    static let makesRoom = "'pagecache purge --all' makes room on a full disk, and removes every query"

    /// The warning about removed bytes that may remain in the log. No command can remove these bytes until the reader
    /// of the store has ended its read, or the full disk has room.
    static func remainder(isDiskFull: Bool) -> String {
        let (reason, moment) =
            isDiskFull
            ? ("the disk is full", "once the disk has room")
            : ("another process reads the store", "once that process has ended its read")
        return
            "the store's files may still hold removed bytes, because \(reason); \(moment), the first command that writes to the store removes these bytes"
    }

    private func write(_ report: PurgeReport, _ keys: [QueryKey], _ setAside: [String]) {
        let terminal = Terminal.standard
        let members: [(String, JSONOutput)] = [
            ("dry_run", .bool(consent.dryRun)), ("queries", .int(report.queries)), ("pages", .int(report.pages)),
            ("bytes", .int(report.bytes)), ("may_remain_in_log", .bool(report.mayRemainInLog)),
            ("may_remain_in_file", .bool(report.mayRemainInFile)),
        ]
        // A dry run lists the queries, so that users can see which ones would be removed.
        for key in consent.dryRun && common.outputFormat == .table ? keys : [] {
            let scope = key.scope.isEmpty ? "" : "  (\(key.scope))"
            let room = terminal.outputIsTerminal ? max(1, terminal.width - 10 - TextWidth.columns(scope)) : .max
            terminal.print("\(key.shortID)  \(TextWidth.cutInside(key.text, to: room))\(scope)")
        }
        let text =
            report.queries == 0
            ? (consent.dryRun ? "nothing would be removed" : "nothing removed")
            : "\(consent.dryRun ? "would remove" : "removed") \(sentence(report))"
        ResultTable.render(one: members, common.outputFormat, sentence: text, to: terminal)
        if !setAside.isEmpty {
            terminal.warn(
                "damaged files that were set aside may still hold removed bytes: \(setAside.joined(separator: ", ")); delete the files when you no longer need them"
            )
        }
        if report.mayRemainInLog {
            terminal.warn(Purge.remainder(isDiskFull: report.isDiskFull))
        }
        if report.mayRemainInFile {
            terminal.warn(
                "unused parts of the store's file may still hold copies of removed bytes, because the file has more than 64 MiB, is damaged or in use, or the disk has too little room; a later purge rewrites the file unless it is larger than 64 MiB"
            )
        }
    }
}
#endif
