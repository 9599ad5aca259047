public import PageModel

/// Options of background work. Each property states its default. A number or a duration out of range counts as the
/// nearest valid one. Durations are at most 68 years.
public struct EngineOptions: Hashable, Sendable {
    /// How pages are fetched. `work` is set for each list. Defaults to the defaults of `SyncOptions`, with
    /// `retryWaitBudget` 0 and `honorsLedger` true.
    public var sync: SyncOptions = {
        var options = SyncOptions()
        // The engine waits for retries itself, so its runs do not wait.
        options.retryWaitBudget = .zero
        options.honorsLedger = true
        return options
    }()
    /// When page one of a pinned or observed list is fetched again. Defaults to the default policy, except that an
    /// origin's freshness of less than 60 seconds counts as 60 seconds. The engine does not refresh a page one that is
    /// less than 1 second old, unless the list was invalidated.
    public var freshness = FreshnessPolicy(originLifetime: .taken(atLeast: .seconds(60)))
    /// The maximum number of lists with a run under way at a time. At least 1. Defaults to 4.
    public var lists = 4
    /// The maximum number of lists of one origin with a run under way at a time. At least 1. Defaults to 2.
    public var listsPerOrigin = 2
    /// The maximum number of requests in flight at a time at one origin. `sync.concurrency` limits one list's share of
    /// them. An `OriginGate` in `SyncEngine.Origin` sets its own limits instead. At least 1. Defaults to 4.
    public var requestsPerOrigin = 4
    /// The maximum number of requests per second at one origin in the long run, from 0.001 to 1,000. `nil` means no
    /// such limit. Defaults to nil.
    public var requestsPerSecond: Double?
    /// The time over which overdue work is spread when the engine starts, so that the work does not start all at once
    /// (R29). At least 0. Defaults to 10 seconds.
    public var spread: Duration = .seconds(10)
    /// How long an origin is left alone after `SyncOptions.transportFailuresUntilOffline` runs in a row without an
    /// answer (R32). At least 1 millisecond. Defaults to 30 seconds.
    public var circuitPause: Duration = .seconds(30)

    /// Options with the default values.
    public init() {}
}
