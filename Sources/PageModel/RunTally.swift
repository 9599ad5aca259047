/// The costs of the runs that updated a list, and the requests they avoided, summed over the life of a query.
///
/// A program that runs a synchronisation may pass its figures to `add(_:to:)` of its store. `pagecache sync` and
/// `pagecache retry` do.
public struct RunTally: Hashable, Sendable {
    /// The start of the count. `nil` means that no run was counted.
    public var beganAt: Timestamp?
    /// The number of runs.
    public var runs: Int
    /// The number of requests sent: pages, probes and retries.
    public var requests: Int
    /// The number of answers whose items the runs used.
    public var pagesFetched: Int
    /// The number of answers that were "not modified" or had the same content.
    public var pagesUnchanged: Int
    /// The number of held pages that the runs neither fetched nor validated.
    public var pagesKept: Int
    /// The number of body bytes received over the wire.
    public var bytesReceived: Int
    /// The version of the list before the last counted run that changed an item. `nil` means that no counted run
    /// changed one.
    public var changedSince: ContentVersion?

    /// Creates a tally. Figures range from 0 to 2^53 and default to 0.
    public init(
        beganAt: Timestamp? = nil, runs: Int = 0, requests: Int = 0, pagesFetched: Int = 0, pagesUnchanged: Int = 0,
        pagesKept: Int = 0, bytesReceived: Int = 0, changedSince: ContentVersion? = nil
    ) {
        self.beganAt = beganAt
        self.runs = runs
        self.requests = requests
        self.pagesFetched = pagesFetched
        self.pagesUnchanged = pagesUnchanged
        self.pagesKept = pagesKept
        self.bytesReceived = bytesReceived
        self.changedSince = changedSince
    }

    /// The number of requests avoided, if each page of the store were a request. Without a store each run would request
    /// every page of the list; these runs sent `requests`. The pages of a store can overlap:
    /// `StoreStatistics.requestsSaved` takes that into account.
    ///
    /// Never below 0: failing requests can outnumber the pages.
    public var requestsSaved: Int { max(0, pages - requests) }

    /// The number of pages that the runs brought up to date.
    package var pages: Int { pagesFetched.addingCapped(pagesUnchanged).addingCapped(pagesKept) }

    /// The share of pages that were unchanged or needed no request, from 0 to 1. `nil` when no page was counted.
    public var hitRate: Double? {
        pages > 0 ? Double(pagesUnchanged.addingCapped(pagesKept)) / Double(pages) : nil
    }

    /// Adds two tallies. The sum has the earlier `beganAt`, and the `changedSince` of the right tally unless that is
    /// `nil`.
    public static func + (left: RunTally, right: RunTally) -> RunTally {
        RunTally(
            beganAt: [left.beganAt, right.beganAt].compactMap { $0 }.min(),
            runs: left.runs.addingCapped(right.runs), requests: left.requests.addingCapped(right.requests),
            pagesFetched: left.pagesFetched.addingCapped(right.pagesFetched),
            pagesUnchanged: left.pagesUnchanged.addingCapped(right.pagesUnchanged),
            pagesKept: left.pagesKept.addingCapped(right.pagesKept),
            bytesReceived: left.bytesReceived.addingCapped(right.bytesReceived),
            changedSince: right.changedSince ?? left.changedSince)
    }
}

extension RunTally {
    /// The numbers that a storage keeps. Each has to be one of `StoredBounds.sizes`.
    package var numbers: [Int] { [runs, requests, pagesFetched, pagesUnchanged, pagesKept, bytesReceived] }
}
