/// A kind of paginated origin. Its name says how it differs from a list with an exact count and full pages.
///
/// `OriginPlan(seed:kind:)` draws a plan of a kind. `OriginExpectation` describes the expected result of synchronising
/// it.
public enum OriginKind: String, Hashable, Sendable, CaseIterable {
    /// The plans of `OriginPlan(seed:)`: full pages, changes and faults, and totals that are exact or wrong in one of
    /// the ways of `OriginPlan.Totals`.
    case ordinary
    /// Pages that stay short, or empty, in the middle of the list. The origin cuts pages from its full list, and leaves
    /// the items out of each answer that the caller may not see. Examples: permissions (Microsoft Graph, Slack, Jira),
    /// soft deletes, filters that run after the limit (DynamoDB `FilterExpression`, Firestore rules).
    case hidden
    /// Pages that begin with the last item of the page before: inclusive cursors (`since_id` with `>=`, CouchDB
    /// `startkey`, Redis streams, Google Cloud Datastore queries by key).
    case overlapping
    /// Pages of 10 to 100 items, as most JSON APIs have by default, with 13 to 30 inserts during one load.
    case large
    /// 300 pages or more: mailboxes, commit histories, audit logs.
    case long
    /// One list that is fetched with another page size in each run, as by two screens or two versions of an app.
    case sizes
    /// A list that is shorter than one page at the first load, and many pages long later: a new account, a new channel.
    case sprouting
    /// Totals that differ slightly from the list. Examples: counts from replicas or caches that jitter by one, counts
    /// that include drafts, counts that are capped or too low.
    case miscounted
    /// A result window: items after a fixed position cannot be fetched, and the total counts the full list
    /// (Elasticsearch `max_result_window`, GitHub search, Algolia `paginationLimitedTo`). A request after the window
    /// gets 422 or an empty page.
    case window
    /// Requests beyond the end are answered with items. Some origins repeat the last page (Rails `will_paginate` and
    /// Django with clamping, many shop systems). Others start the list again (recommendation feeds, random playlists).
    case endless
    /// Another order in each answer: `ORDER BY` a column that is not unique, no `ORDER BY` at all, or sharded searches
    /// with equal scores.
    case shuffled
    /// Chains whose page with the last item still has a next cursor, which leads to an empty page (Facebook Graph,
    /// DynamoDB `LastEvaluatedKey`). In some of them the empty page also repeats its own cursor (Kafka REST, Twitter v1
    /// timelines, IMAP-like deltas).
    case trailing
    /// Two replicas behind one address that answer in turn, one of them a change behind: read replicas of Postgres and
    /// MySQL, eventually consistent indexes.
    case replicas
    /// Validators on a list without a total: a request for page one is answered with 304 although items were appended
    /// at the end.
    case uncounted
    /// One fault or one change, at one request of the first load. Over many seeds, each kind of event happens at each
    /// request.
    case firstContact
    /// A feed: an item is inserted at the head at every 5th, 15th or 40th request while the list is loaded.
    case feed
    /// Sweeps with one failure, and sweeps that are interrupted and started again.
    case sweeps
    /// Items whose JSON members have another order in each answer (Go maps, Python sets, Perl hashes): bytes differ,
    /// and values do not. In some plans, ids also differ by their JSON type only (`0` and `"0"`).
    case rewritten
    /// Answers that occasionally contain one item twice: joins without `DISTINCT`, promoted items, retries in a merge
    /// of shards. Ids are unique at the origin.
    case echoing
    /// Long times: `Retry-After` of hours, leases that outlast an answer, runs that are days apart, owners that sleep.
    case clocks

    /// The kind of the plan with this seed, in a campaign over all kinds: each kind is drawn equally often.
    public init(drawnBy seed: UInt64) {
        self = OriginKind.allCases[Int(seed % UInt64(OriginKind.allCases.count))]
    }

    /// The number of the stream of random numbers that belongs to the kind.
    var stream: UInt64 { UInt64(OriginKind.allCases.firstIndex(of: self) ?? 0) + 0x9a9e }
}
