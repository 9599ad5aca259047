public import PageModel

/// Options of lists. Each property states its default. A number or a duration out of range counts as the nearest valid
/// one, except for `sync.pageSize`.
public struct PagedListOptions: Hashable, Sendable {
    /// How pages are fetched: concurrency, page size, retries, leases. `work` is set by each call. Calls do not wait
    /// for retries, which the ledger schedules. Defaults to the defaults of `SyncOptions`, with a retry wait budget of
    /// 0.
    public var sync: SyncOptions = {
        var options = SyncOptions()
        options.retryWaitBudget = .zero
        return options
    }()
    /// When cached items count as stale, and as expired. Defaults to the defaults of `FreshnessPolicy`: stale after the
    /// origin's `max-age`, up to 1 hour, else after 60 seconds.
    public var freshness = FreshnessPolicy()
    /// How many pages before the end of the loaded items the next page is prefetched. With 0, the next page is
    /// prefetched when the last item appears. With 1, it is prefetched when an item of the last page appears, or the
    /// last item of the page before. The length of a page is the average number of items of the loaded pages. At least
    /// 0. Defaults to 1.
    public var prefetchDistance = 1
    /// The maximum number of pages that are prefetched before another item appears. At least 1. Defaults to 2.
    public var prefetchLimit = 2
    /// Whether the appearance of items retries a failed load of the next page. An explicit call such as `loadNext()`
    /// does not wait until the next attempt is due (R33). Defaults to `never`.
    public var automaticRetry = AutomaticRetry.never
    /// Whether the list leaves no record in the storage, for example for search results while the user types. Its items
    /// are only in memory, while the list is in use. Defaults to false.
    public var isEphemeral = false
    /// The maximum number of positions in one snapshot, including positions whose items do not decode. Loads stop at
    /// this limit. `ListRepository.page` returns the items after the limit. At least 1. Defaults to 100,000.
    public var itemLimit = 100_000

    /// Options with the default values.
    public init() {}

    /// The options with values in range. For an ephemeral list, the fetch options are set so that no record remains in
    /// the storage.
    /// - Precondition: `sync.pageSize` is nil or at least 1.
    var effective: PagedListOptions {
        var options = self
        options.sync = sync.bounded
        options.itemLimit = max(1, itemLimit)
        if isEphemeral { (options.sync.registersFirst, options.sync.storesDespiteNoStore) = (false, false) }
        return options
    }

    /// Whether the appearance of items retries after the next page failed to load.
    public enum AutomaticRetry: Hashable, Sendable {
        /// Only an explicit call retries.
        case never
        /// An item that appears starts the retry, once the next attempt is due by the ledger.
        case perLedger
    }
}
