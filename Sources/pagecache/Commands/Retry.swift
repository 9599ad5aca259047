#if Tool
import ArgumentParser
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

/// `pagecache retry`: fetches failed pages now.
struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Fetch failed pages now.",
        discussion: """
            Retries the pages of one query, or of all queries. A retry does not wait for
            the schedule or for Retry-After. Without a query, the credential is sent only
            for lists that were fetched with it.

            EXAMPLES
              pagecache retry
              pagecache retry 4k2m9xqa --permanent --bearer-env API_TOKEN
              pagecache retry --no-run      leave the fetch to 'sync --due' or a service
            """)

    @Argument(
        help: QueryHelp.optional, completion: .queries)
    var query: String?
    @Flag(help: "Also retry pages that failed permanently.")
    var permanent = false
    @Flag(help: "Make the pages due, and send no request.")
    var noRun = false
    @OptionGroup var credentials: CredentialOptions
    @Option(help: ArgumentHelp("The time limit for one request. Default: 60s.", valueName: "duration"))
    var timeout: DurationArgument?
    @Option(help: ArgumentHelp("The number of concurrent requests, from 1 to 64.", valueName: "n"))
    var concurrency = 4
    @Option(
        help: ArgumentHelp("The maximum number of attempts for a page, the first included.", valueName: "n"))
    var retries = 8
    @Option(
        help: ArgumentHelp("How long to wait for scheduled retries of each query.", valueName: "duration"))
    var wait = DurationArgument(argument: "30s")!
    @OptionGroup var common: CommonOptions

    /// The work on one query.
    private struct RetriedQuery {
        var key: QueryKey
        /// The number of pages that are due now.
        var pages: Int
        /// The result of the fetch. `nil` when no fetch took place.
        var result: SyncRendering?
    }

    func validate() throws {
        guard (1...64).contains(concurrency) else {
            throw ValidationError("--concurrency is \(concurrency)")
        }
        guard retries >= 1 else { throw ValidationError("--retries is \(retries)") }
        if let timeout, timeout.duration < .milliseconds(1) {
            throw ValidationError("--timeout must be at least 1ms, and is \(timeout.defaultValueDescription)")
        }
    }

    func run() async throws {
        common.apply()
        Terminal.standard.workWithoutReader()
        Arenas.giveBack()
        if !noRun { try DescriptorLimit.check(concurrency: concurrency) }
        try await common.withStore(.writing, checkingPlace: true) { store in try await retry(in: store) }
    }

    private func retry(in store: any ToolStore) async throws {
        let wanted: [ListOutline] =
            if let query { [try await QuerySelector.outline(query, in: store)] } else {
                try await store.summaries().map(\.outline)
            }
        let damaged = query == nil ? try await store.storedQueries().damagedCount : 0
        let credential = noRun ? Credential() : try credentials.read()
        var chosen: [(record: QueryRecord, pages: Int)] = []
        for list in wanted {
            let failures = list.failures.filter { permanent || $0.state == .failedRetryable }
            guard !failures.isEmpty else { continue }
            try await store.record(failures.map { .expedited(offset: $0.offset) }, for: list.record.id)
            chosen.append((list.record, failures.count))
        }
        if damaged == 0 || !chosen.isEmpty { printRemaining(wanted, chosen.isEmpty) }
        let finished =
            noRun ? ListRunner.Finished() : try await fetch(chosen.map(\.record), in: store, credential)
        var renderings = SyncResults(results: finished.results, common: common)
        renderings.damaged = damaged
        let retried = chosen.map { one in
            RetriedQuery(
                key: one.record.key, pages: one.pages, result: renderings.renderings.first { $0.key == one.record.key })
        }
        if let failure = finished.failure {
            render(retried)
            throw failure
        }
        try store.checkPlace(while: "it was open")
        render(retried)
        try renderings.end()
    }

    private func fetch(
        _ records: [QueryRecord], in store: any ToolStore, _ credential: Credential
    ) async throws -> ListRunner.Finished {
        var options = SyncOptions()
        options.reportsOutline = true
        options.concurrency = concurrency
        options.retry.attempts = retries
        // As in `sync` without `--respect-no-store`: the user of the tool asks for a stored copy.
        options.storesDespiteNoStore = true
        options.retryWaitBudget = wait.duration
        var due: [DueWork] = []
        for record in records {
            guard let list = try await store.outline(of: record.id) else { continue }
            if let work = DueWork.retries(of: list, retry: options.retry) { due.append(work) }
        }
        if query != nil, let record = records.first, ListRunner.url(of: record) == nil {
            Terminal.standard.note(
                """
                the store does not know the URL of this list; the program that fetched the list retries the pages in its next run
                """)
        }
        let runner = ListRunner(
            store: store, credential: credential, timeout: timeout?.duration, options: options, isNamed: query != nil)
        return try await runner.run(due.map(ListRunner.Job.init))
    }

    private func printRemaining(_ wanted: [ListOutline], _ isNothing: Bool) {
        let permanentFailures = permanent ? [] : wanted.flatMap { $0.failures.filter { $0.state == .failedPermanent } }
        let left = permanentFailures.count
        if isNothing, left == 0 { Terminal.standard.note("no page fails") }
        guard left > 0 else { return }
        let pages = "\(SizeText.count(left, "page", "pages")) failed permanently"
        let isRefused = permanentFailures.contains { $0.failure?.failureClass == .forbidden }
        let credential = isRefused ? " (add --bearer-env VAR if the origin needs a credential)" : ""
        let way = "--permanent retries \(left == 1 ? "it" : "them")\(credential)"
        if isNothing {
            // This line appears even with `--quiet`, because no other line says that the command did nothing.
            Terminal.standard.complain(
                "no page was retried: \(pages); \(way)")
        } else {
            Terminal.standard.note("\(pages); \(way)")
        }
    }

    private func render(_ retried: [RetriedQuery]) {
        let terminal = Terminal.standard
        switch common.outputFormat {
        case .table:
            for one in retried {
                let pages = "\(SizeText.count(one.pages)) \(one.pages == 1 ? "page is" : "pages are")"
                guard let result = one.result else {
                    terminal.print(sentence: "\(one.key.shortID): \(pages) due now")
                    continue
                }
                result.renderSentence(to: terminal)
            }
        case .json: terminal.print(JSONOutput.array(retried.map(json)).text)
        case .ndjson: for one in retried { terminal.print(json(one).text) }
        case .csv:
            let columns = ["query", "key", "scope", "pages", "outcome", "pages_fetched", "next_attempt_at"].map {
                ResultTable.Column(name: $0)
            }
            let rows = retried.map { one -> [ResultTable.Cell] in
                [
                    .init(.string(one.key.shortID)), .init(.string(one.key.text)), .init(.string(one.key.scope)),
                    .init(.int(one.pages)),
                    .init(.optional(one.result?.report.outcome.rawValue)),
                    .init(.optional(one.result?.report.pagesFetched)),
                    .init(.time(one.result?.report.nextAttemptAt)),
                ]
            }
            ResultTable(columns: columns, rows: rows).render(.csv, to: terminal)
        }
    }

    private func json(_ one: RetriedQuery) -> JSONOutput {
        .object([
            ("query", .string(one.key.shortID)), ("key", .string(one.key.text)), ("scope", .string(one.key.scope)),
            ("pages", .int(one.pages)), ("result", one.result?.json ?? .null),
        ])
    }
}
#endif
