#if Tool
import ArgumentParser

/// The options of `sync` that most users need.
struct SyncWorkOptions: ParsableArguments {
    @Flag(help: "Refresh page one only, and apply the changes that it shows.")
    var refresh = false
    @Flag(help: "Compare every page of the list with the origin, and correct differences.")
    var sweep = false
    @Option(
        help: ArgumentHelp(
            "Stop after this number of fetched pages. The run then ends as limited, with exit code 0.", valueName: "n"))
    var maxPages: Int?
    @Option(
        help: ArgumentHelp(
            "Do not refresh a page one that is younger than this. Missing pages are fetched.",
            discussion:
                "Default: always refresh. With --due (pinned lists) and with --stale, the default is the origin's max-age, 1h at most, or 60s if the origin states none.",
            valueName: "duration"))
    var staleAfter: DurationArgument?
    @Flag(help: "Send no request; report what is stored.")
    var offline = false
    @Flag(
        help: ArgumentHelp(
            "Do the due work of all queries. For cron.",
            discussion:
                "Due work: scheduled retries, refreshes and missing pages of pinned queries, and interrupted sweeps. A credential is sent only for queries that were fetched with it."
        ))
    var due = false
    @Flag(help: "Sync every query in the store.")
    var all = false
    @Flag(help: "Sync every query that is stale or was never fetched, pinned or not.")
    var stale = false

    /// Whether the options select queries, so that no target is named.
    var selectsQueries: Bool { due || all || stale }
}

/// The options of `sync` about its requests.
struct FetchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The number of concurrent requests, from 1 to 64.", valueName: "n"))
    var concurrency = 4
    @Option(help: ArgumentHelp("The maximum rate of page requests: 5/s, 30/m or 100/h.", valueName: "rate"))
    var rate: RateArgument?
    @Option(
        help: ArgumentHelp("The maximum number of attempts for a page, the first included.", valueName: "n"))
    var retries = 8
    @Option(
        help: ArgumentHelp(
            "How long to wait for scheduled retries. Default: 30s, and 0s with --due.", valueName: "duration"))
    var wait: DurationArgument?
    @Option(
        help: ArgumentHelp(
            "The number of known items that a page repeats, at an origin that takes any offset. Small pages repeat them less often. Default: 1.",
            valueName: "n"))
    var overlap: Int?
    @Flag(help: "Store no answer that the origin marks with 'Cache-Control: no-store'.")
    var respectNoStore = false
}

/// The options of `sync` that few users need, and rarely.
struct RareOptions: ParsableArguments {
    @Flag(help: "Explain how the origin pages, and the evidence for it.")
    var explain = false
    @Flag(help: "Print each action of the run on the store and the origin. For a bug report.")
    var trace = false
    @Flag(
        help:
            "Bind a stored list to this request, when the list of --key has another URL, method or body, or when a repair lost the record of the credential of the list. Every page is then compared with the origin, as with --sweep."
    )
    var rebind = false
}
#endif
