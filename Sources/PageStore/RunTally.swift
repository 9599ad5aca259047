public import PageModel

/// What runs that bring a list up to date have cost, and what they could leave alone: sums over the life of a query.
///
/// Whoever runs a synchronisation may hand its figures to `PageStore.add(_:to:at:)`; `pagecache sync` and `pagecache
/// retry` do.
public struct RunTally: Hashable, Sendable {
    /// Since when it is counted; nil where nothing ever was.
    public var beganAt: Timestamp?
    /// Runs that were counted.
    public var runs: Int
    /// Requests that were sent: pages, probes, retries.
    public var requests: Int
    /// Answers whose items were taken.
    public var pagesFetched: Int
    /// Answers that said "unchanged", or were.
    public var pagesUnchanged: Int
    /// Pages that were up to date, or brought up to date by inference, without being asked for.
    public var pagesKept: Int
    /// Bytes of bodies, as they came over the wire.
    public var bytesReceived: Int

    /// A tally; each parameter is the property of its name. Figures are 0…2^53.
    public init(
        beganAt: Timestamp? = nil, runs: Int = 0, requests: Int = 0, pagesFetched: Int = 0, pagesUnchanged: Int = 0,
        pagesKept: Int = 0, bytesReceived: Int = 0
    ) {
        self.beganAt = beganAt
        self.runs = runs
        self.requests = requests
        self.pagesFetched = pagesFetched
        self.pagesUnchanged = pagesUnchanged
        self.pagesKept = pagesKept
        self.bytesReceived = bytesReceived
    }

    /// Requests that were not needed: without a store each run asks for every page of the list, and these runs sent
    /// `requests`. Never below 0: an origin that fails all the time costs more requests than there are pages.
    public var requestsSaved: Int { max(0, pagesFetched + pagesUnchanged + pagesKept - requests) }

    /// Share of the pages that came without a body being taken, 0…1; nil before there was any.
    public var hitRate: Double? {
        let all = pagesFetched + pagesUnchanged + pagesKept
        return all > 0 ? Double(pagesUnchanged + pagesKept) / Double(all) : nil
    }

    /// The sums of both.
    public static func + (left: RunTally, right: RunTally) -> RunTally {
        RunTally(
            beganAt: [left.beganAt, right.beganAt].compactMap { $0 }.min(), runs: left.runs + right.runs,
            requests: left.requests + right.requests, pagesFetched: left.pagesFetched + right.pagesFetched,
            pagesUnchanged: left.pagesUnchanged + right.pagesUnchanged, pagesKept: left.pagesKept + right.pagesKept,
            bytesReceived: left.bytesReceived + right.bytesReceived)
    }
}
