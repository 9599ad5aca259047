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
        abstract: "Bring a paginated HTTP API into the store, or up to date.",
        discussion: """
            The first run fetches every page; later ones ask for page one, work out what
            changed, and fetch what is missing. Interrupted, it goes on where it was.

            EXAMPLES
              pagecache sync 'https://api.example.com/items'
              pagecache sync "$URL" --paging offset --items /results --total /count
              pagecache sync "$URL" --explain
              pagecache sync "$URL" --bearer-env API_TOKEN --page-size 200
              pagecache sync 4k2m9xqa --refresh     a known query, page one only
              pagecache sync 4k2m9xqa --sweep       compare every page with the origin's
              pagecache sync 4k2m9xqa --stale-after 10m     leave a younger page one alone
              pagecache sync --due --quiet          from cron: what is due, of all queries
            """)

    @Argument(help: "A URL, or a query that is in the store.", completion: .queries)
    var target: String?

    @Flag(
        help: ArgumentHelp(
            "Everything that is due: scheduled retries of all queries, pinned ones that are stale or not whole, sweeps that were cut off.",
            discussion: "A credential is sent for those queries that were fetched with it, and for no others."))
    var due = false

    @OptionGroup var source: SourceOptions
    @OptionGroup var common: CommonOptions

    @Option(help: "Stop after so many pages.")
    var maxPages: Int?
    @Option(help: "Fetches at a time.")
    var concurrency = 4
    @Option(help: ArgumentHelp("At most so many pages asked for in a time: 5/s, 30/m or 100/h.", valueName: "rate"))
    var rate: RateArgument?
    @Option(help: "Attempts before a page is given up for now.")
    var retries = 8
    @Option(
        help: ArgumentHelp(
            "How long to wait for scheduled retries. Default: 30s; with --due not at all.", valueName: "duration"))
    var wait: DurationArgument?
    @Option(
        help: ArgumentHelp(
            "Ask for page one only when it was confirmed longer ago than this.",
            discussion:
                "Default: always; with --due, for pinned lists, what the origin says, up to 1h, or 60s where it does not.",
            valueName: "duration"))
    var staleAfter: DurationArgument?
    @Flag(help: "Page one and what it tells, and nothing else.")
    var refresh = false
    @Flag(help: "Verify every page of the list, and mend what differs.")
    var sweep = false
    @Option(help: "Known items that are asked for again with each page, where the origin takes any offset.")
    var overlap = 1
    @Flag(help: "Take the list under --key over for this URL; page one decides what stays.")
    var rebind = false
    @Flag(help: "Never touch the network; say what is there.")
    var offline = false
    @Flag(help: "Do not write what the origin asks nobody to keep (Cache-Control: no-store).")
    var respectNoStore = false
    @Flag(help: "Say what was found out about how the origin pages, and why.")
    var explain = false

    func validate() throws {
        guard (target != nil) != due else {
            throw ValidationError("name a URL, or a query that is in the store, or --due")
        }
        if due, refresh || sweep || offline || source.key != nil || source.scope != nil {
            throw ValidationError(
                "--due decides for itself what to do; it takes no --refresh, --sweep, --offline, --key or --scope")
        }
        // A query with an empty key could not be named.
        if source.key?.isEmpty == true { throw ValidationError("--key must not be empty") }
        if rebind, source.key == nil { throw ValidationError("--rebind takes over the list that --key names") }
        if let maxPages, maxPages < 1 { throw ValidationError("--max-pages must be at least 1") }
        guard (1...64).contains(concurrency) else { throw ValidationError("--concurrency must be from 1 to 64") }
        guard overlap >= 0 else { throw ValidationError("--overlap must not be negative") }
        if sweep, staleAfter != nil {
            throw ValidationError("--sweep asks for every page, however young; it takes no --stale-after")
        }
        guard !refresh || !sweep else {
            throw ValidationError("--refresh asks for page one only, --sweep for every page")
        }
        guard retries >= 1 else { throw ValidationError("--retries must be at least 1") }
    }

    func run() async throws {
        common.apply()
        Arenas.giveBack()
        guard let target else { return try await syncDue() }
        let store = try await DeferredStore(at: common.storePath)
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
        if offline { return try await tellOffline(target, key, known, store) }
        var options = options
        if let staleAfter, let known, let list = try await store.outline(of: known.id) {
            guard let work = work(for: list, by: staleAfter, now: SystemClock().now()) else {
                return try await tell(list, target, key, store)
            }
            options.work = work
        }

        var configuration = source.adding(try source.credentials.read(), to: plain)
        configuration.rebinds = rebind
        if let known { HTTPPageSource.restoreRequest(inStored: known.source, into: &configuration) }
        // Pages that repeat themselves are the strongest hint that the stored findings are wrong.
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
        let origin: HTTPPageSource
        do {
            origin = try HTTPPageSource(configuration, stored: known?.source, transport: transport)
        } catch {
            throw ToolFailure(.usage, "usage", "'\(configuration.url)' is \(error.message)")
        }
        if origin.hasSecretInURL {
            Terminal.standard.warn(
                "a secret in a URL can be seen by others on this machine; --header-env or --bearer-env keeps it out of sight"
            )
        }
        if let known, source.key == nil, source.scope == nil, origin.belongsToAnother(stored: known.source) {
            throw ToolFailure(
                .permission, "other_credential", "this list was fetched with another credential, or with none",
                hint: "give it a list of its own with --scope or --key, or purge \(key.shortID)")
        }
        let progress = SyncProgress(terminal: .standard) { origin.usage.requests }
        // The progress line is removed after a failure of the store as well.
        defer { progress.finish() }
        let gate = rate.map { OriginGate(concurrency: concurrency, requestsPerSecond: $0.perSecond) }
        let sync = ListSync(
            storage: store, source: gate?.limiting(origin) ?? origin, key: key, options: options,
            logger: ToolLog.logger("pagecache.sync"))
        let wasKnown = known.map { !$0.source.isEmpty } ?? false
        let report = try await sync.run { progress.show($0) }
        progress.finish()
        if !wasKnown, let summary = origin.summary { Terminal.standard.note("detected: \(summary)") }
        if explain { tell(origin.explanation) }
        for warning in report.warnings { Terminal.standard.warn(warning) }
        await store.count(report, after: options.work)
        try SyncRendering(report: report, key: key, url: configuration.url, common: common).render()
    }

    var options: SyncOptions {
        var options = SyncOptions()
        options.concurrency = concurrency
        options.pageSize = source.pageSize
        options.maxPages = maxPages
        if sweep { options.work = .sweep }
        if refresh { options.work = .refresh }
        options.overlap = overlap
        options.retry.attempts = retries
        // The user of `sync` asks for a copy, as with a download. A library that serves other users does not make that
        // choice for them.
        options.storesDespiteNoStore = !respectNoStore
        options.patience = wait?.duration ?? options.patience
        options.checksStoredBytes = !due
        options.reportsOutline = true
        // A mistyped URL leaves no query in the store.
        options.registersFirst = false
        return options
    }

    /// The URL to request and its query, from a URL or from a query in the store.
    private func resolve(_ target: String, in store: DeferredStore) async throws -> (
        plain: HTTPSourceConfiguration, key: QueryKey
    ) {
        if target.contains("://") {
            let plain = try source.plain(url: target)
            guard let key = HTTPPageSource.key(for: plain, scope: source.scope ?? "") else {
                let reason = HTTPPageSource.refusal(of: target) ?? "asked with a body that is no JSON object"
                throw ToolFailure(.usage, "usage", "'\(target)' is \(reason)")
            }
            return (plain, source.key.map { QueryKey($0, scope: source.scope ?? "") } ?? key)
        }
        let query = try QuerySelector.find(
            target, in: try await store.records(), otherwise: "a new one is begun with its URL, http://… or https://…")
        return (try source.plain(url: HTTPPageSource.url(inStored: query.source) ?? query.key.text), query.key)
    }

    /// Refuses another URL under the key of a list, unless `--rebind` allows it (R47).
    private func checkBinding(of known: QueryRecord, to url: String) throws {
        let isBound = HTTPPageSource.isBound(url: url, parameters: source.pagingParameters, stored: known.source)
        guard !rebind, !isBound else { return }
        let other = HTTPPageSource.url(inStored: known.source) ?? ""
        throw ToolFailure(
            .usage, "other_url", "'\(known.key.text)' is \(other)",
            hint: "use another --key, or --rebind to take the list over for this URL")
    }

    /// Prints each decision about the origin with its reason, one line each, for `--explain`. The lines appear even
    /// with `--quiet`, because the user asked for them. They go to standard error, so that the result stays one
    /// document.
    func tell(_ explanation: [Explained]) {
        if explanation.isEmpty { return Terminal.standard.complain("nothing is known of how this origin pages") }
        for line in explanation { Terminal.standard.complain(line.description) }
    }
}
#endif
