public import PageModel

/// How lists behave; each default is said where it stands.
public struct PagedListOptions: Hashable, Sendable {
    /// How fetching goes: concurrency, page size, retries, leases. `work` is set by each call. A call that a person
    /// waits for does not wait for retries; the ledger keeps them. Default: the defaults, with no patience.
    public var sync: SyncOptions = {
        var options = SyncOptions()
        options.patience = .zero
        return options
    }()
    /// When what is cached counts as stale, and as expired.
    public var freshness = FreshnessPolicy()
    /// How many items before the end of what is held the next page is fetched by itself, in pages. 0…: 0 waits for the
    /// last item. Default: 1.
    public var prefetchDistance = 1
    /// How many pages are fetched by themselves, at most, before another item appears. 1…: Default: 2.
    public var prefetchLimit = 2
    /// What automatic triggers do after something failed. Explicit calls always try (R33). Default: `never`.
    public var automaticRetry = AutomaticRetry.never
    /// How many items one snapshot holds at most; what lies behind is there for `PagedRepository.page`. 1…. Default:
    /// 100,000.
    public var itemLimit = 100_000

    /// The defaults.
    public init() {}

    /// What scrolling does after the next page could not be had.
    public enum AutomaticRetry: Hashable, Sendable {
        /// Nothing: only an explicit call tries again.
        case never
        /// It tries again once the ledger says that it is time.
        case perLedger
    }
}
