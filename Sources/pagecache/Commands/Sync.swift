#if Tool
import ArgumentParser
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `pagecache sync`: fetches a paginated API into the store, or updates it.
struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Fetch a paginated HTTP API into the store, or update it.",
        discussion: """
            The first run fetches every page. A later run refreshes page one, derives the
            changes from it, and fetches missing pages. An interrupted run continues where
            it stopped.

            EXAMPLES
              pagecache sync 'https://api.example.com/items'
              pagecache sync "$URL" --paging offset --items /results --total /count
              pagecache sync "$URL" --explain
              pagecache sync "$URL" --bearer-env API_TOKEN --page-size 200
              pagecache sync 4k2m9xqa --refresh            page one of a known query
              pagecache sync 4k2m9xqa --sweep              verify every page
              pagecache sync 4k2m9xqa --stale-after 10m    page one if older than 10 min
              pagecache sync --all                         every query in the store
              pagecache sync --due --quiet                 from cron
            """)

    @Argument(
        help: ArgumentHelp("A URL, or the key or id of a query in the store.", valueName: "url|query"),
        completion: .queries)
    var target: String?

    @OptionGroup(title: "Common options") var work: SyncWorkOptions
    @OptionGroup(title: "Request options") var fetch: FetchOptions
    @OptionGroup(title: "Origin options") var source: SourceOptions
    @OptionGroup(title: "Rare options") var rare: RareOptions
    @OptionGroup(title: "Store and output options") var common: CommonOptions

    func validate() throws {
        let given: [String?] = [
            target.map { "'\($0)'" }, work.due ? "--due" : nil, work.all ? "--all" : nil, work.stale ? "--stale" : nil,
        ]
        let chosen = given.compactMap { $0 }
        guard chosen.count == 1 else {
            throw ValidationError(
                chosen.isEmpty
                    ? "name a URL, a query in the store, --due, --all or --stale"
                    : "\(chosen.joined(separator: " and ")) exclude each other; name one of them")
        }
        let single = work.offline ? "--offline" : source.key != nil ? "--key" : source.scope != nil ? "--scope" : nil
        if work.selectsQueries, let single {
            throw ValidationError("\(single) needs one query or URL, and cannot be combined with \(chosen[0])")
        }
        if work.due, work.refresh || work.sweep {
            throw ValidationError(
                "--due cannot be combined with --refresh or --sweep; it does the due work of each query")
        }
        if work.selectsQueries, let name = source.firstDescribing ?? (rare.explain ? "--explain" : nil) {
            throw ValidationError(
                "\(name) is about one origin; with --due, --all or --stale the store knows the paging of each query")
        }
        try checkTarget()
        if rare.trace, work.selectsQueries || work.offline {
            throw ValidationError("--trace needs one query or URL, and cannot be combined with --offline")
        }
        if work.all, work.staleAfter != nil { throw ValidationError("--all takes no --stale-after; use --stale") }
        // A query with an empty key could not be named.
        if source.key?.isEmpty == true { throw ValidationError("--key must not be empty") }
        if rare.rebind, work.selectsQueries { throw ValidationError("--rebind needs one query or URL") }
        if let maxPages = work.maxPages, maxPages < 1 {
            throw ValidationError("--max-pages is \(maxPages)")
        }
        guard (1...64).contains(fetch.concurrency) else {
            throw ValidationError("--concurrency is \(fetch.concurrency)")
        }
        if let overlap = fetch.overlap, overlap < 0 {
            throw ValidationError("--overlap is \(overlap)")
        }
        if work.sweep, work.staleAfter != nil {
            throw ValidationError("--sweep verifies every page, whatever its age, and takes no --stale-after")
        }
        if work.sweep, work.maxPages != nil {
            throw ValidationError(
                "--max-pages limits a load, and --sweep takes no limit; a stopped sweep continues where it ended")
        }
        guard !work.refresh || !work.sweep else {
            throw ValidationError("--refresh fetches page one only, and --sweep every page; name one of them")
        }
        guard fetch.retries >= 1 else {
            throw ValidationError("--retries is \(fetch.retries)")
        }
    }

    /// Refuses options that do not fit the target, and options that `--offline` excludes.
    private func checkTarget() throws {
        let name = source.key != nil ? "--key" : source.scope != nil ? "--scope" : nil
        if let target, let name, !target.contains("://") {
            throw ValidationError(
                "\(name) names the query of a URL, and '\(target)' is not a URL; a URL starts with http:// or https://")
        }
        // The store knows the method of a stored query.
        if let target, target.contains("://") { try source.checkBody(of: source.method ?? .get) }
        let requests = work.sweep ? "--sweep" : work.refresh ? "--refresh" : rare.rebind ? "--rebind" : nil
        if work.offline, let requests {
            throw ValidationError("\(requests) needs requests, and --offline sends none; name one of them")
        }
    }

    func run() async throws {
        common.apply()
        Terminal.standard.workWithoutReader()
        Arenas.giveBack()
        if !work.offline { try DescriptorLimit.check(concurrency: fetch.concurrency) }
        guard let target else { return try await syncStored() }
        let store = try await DeferredStore(at: common.place, work.offline ? .reading : .writing)
        do {
            try await run(target, in: store)
        } catch {
            await store.close()
            throw error
        }
        try await store.closeInPlace()
    }

    private func run(_ target: String, in store: DeferredStore) async throws {
        let (plain, key) = try await resolve(target, in: store)
        let known = try await store.query(key)
        if let known, target.contains("://") { try checkBinding(of: known, to: plain.url) }
        if work.offline { return try await renderOffline(target, key, known, store) }
        if known == nil, source.key == nil { await noteOtherList(key, in: store) }
        var options = options
        if let staleAfter = work.staleAfter, let known, let list = try await store.outline(of: known.id) {
            guard let rest = rest(of: list, by: staleAfter, now: list.readAt) else {
                return try await renderStored(list, target, key, store)
            }
            options.work = rest
        }

        var configuration = source.adding(try source.credentials.read(), to: plain)
        configuration.rebinds = rare.rebind
        // Rebinding binds the list to the method and body that the options describe, and not to the stored ones.
        if rare.rebind, target.contains("://") { configuration.hasOwnMethod = true }
        configuration.overlap = fetch.overlap
        if let known { HTTPSource.restoreRequest(inStored: known.source, into: &configuration) }
        try source.checkBody(of: configuration.method)
        options.overlap = configuration.overlap ?? options.overlap
        // A stored failure of class `loop` suggests that the stored paging profile is wrong, so the run detects the
        // paging anew.
        let state = try await store.state(of: key)
        if state?.failures?.contains(where: { $0.failure?.failureClass == .loop }) == true {
            configuration.detectsAnew = true
        }
        let transport = AsyncHTTPTransport(limits: configuration.limits, network: try source.network())
        let result: Result<Void, any Error>
        do {
            try await synchronise(key, known, configuration, transport, store, options)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        // Connections are closed before the process ends, after a failure as well.
        await transport.close()
        try result.get()
    }

    private func synchronise(
        _ key: QueryKey, _ known: QueryRecord?, _ configuration: HTTPSourceConfiguration,
        _ transport: AsyncHTTPTransport,
        _ store: DeferredStore, _ options: SyncOptions
    ) async throws {
        let origin: HTTPSource
        do {
            origin = try HTTPSource(configuration, stored: known?.source, transport: LoggedTransport(transport))
        } catch {
            throw ToolFailure(.usage, "usage", "'\(configuration.url)' is \(error.message)")
        }
        if origin.hasSecretInURL {
            Terminal.standard.warn(
                "other users of this machine can see a secret in a URL; use --header-env or --bearer-env instead"
            )
        }
        var options = options
        if let known {
            try checkOwner(of: known, origin)
            // When a list is bound to another request, an unchanged page one does not prove that the later pages have
            // the same items. So the run compares every page.
            if !origin.isBound(stored: known.source), !work.refresh { options.work = .sweep }
        }
        let progress = SyncProgress(
            terminal: .standard, verifies: work.sweep, verifiedBefore: known?.sweep?.position ?? 0,
            storeWait: { store.writeWait }, requests: { origin.usage.requests })
        // The progress line is removed after a failure of the store as well.
        defer { progress.finish() }
        let gate = fetch.rate.map { OriginGate(concurrency: fetch.concurrency, requestsPerSecond: $0.perSecond) }
        let sync = ListSync(
            storage: store, source: gate?.limiting(origin) ?? origin, key: key, options: options,
            logger: ToolLog.logger("pagecache.sync"))
        let wasKnown = known.map { !$0.source.isEmpty } ?? false
        let began = ContinuousClock.now
        let report = try await sync.run { event in
            if case .acted(let action, let result) = event {
                printAction(action, result, after: .now - began)
            } else {
                progress.show(event)
            }
        }
        progress.finish()
        if !wasKnown, let summary = origin.summary { Terminal.standard.note("detected: \(summary)") }
        if rare.explain { printDecisions(origin.explanation) }
        for warning in report.warnings { Terminal.standard.warn(SettingNames.options(in: warning)) }
        await store.count(report, since: known?.contentVersion, after: options.work)
        var bytes: Int?
        if Terminal.standard.outputIsTerminal, let query = report.list?.record.id {
            bytes = try await store.summary(of: query)?.bytes
        }
        try store.checkPlace()
        try SyncRendering(report: report, key: key, url: configuration.url, common: common, storedBytes: bytes).render()
    }

    var options: SyncOptions {
        var options = SyncOptions()
        options.concurrency = fetch.concurrency
        options.pageSize = source.pageSize
        options.maxPages = work.maxPages
        if work.sweep { options.work = .sweep }
        if work.refresh { options.work = .refresh }
        options.overlap = fetch.overlap ?? options.overlap
        options.retry.attempts = fetch.retries
        // The user of `sync` asks for a copy, as with a download. A library that serves other users does not make that
        // choice for them.
        options.storesDespiteNoStore = !fetch.respectNoStore
        options.retryWaitBudget = fetch.wait?.duration ?? options.retryWaitBudget
        options.checksStoredBytes = true
        options.reportsOutline = true
        options.reportsActions = rare.trace
        // A mistyped URL leaves no query in the store.
        options.registersFirst = false
        return options
    }

    /// Prints an action of the run for `--trace`, with the time since the run began.
    private func printAction(_ action: SyncAction, _ result: String, after time: Duration) {
        Terminal.standard.complain("\(Int(time / .milliseconds(1))) ms: \(action) → \(result)")
    }

    /// Prints each decision about the origin with its reason, one line each, for `--explain`. The lines appear even
    /// with `--quiet`, because the user asked for them. They go to standard error, so that the result stays one
    /// document.
    func printDecisions(_ explanation: [PagingDecision]) {
        if explanation.isEmpty { return Terminal.standard.complain("the paging of this origin is not known yet") }
        for line in explanation { Terminal.standard.complain(line.description) }
    }
}
#endif
