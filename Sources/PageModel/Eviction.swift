/// Limits on how much a storage keeps (R40). `nil` sets no limit. A storage applies a budget in
/// `PageStorage.evict(to:exempt:)`, not with every commit.
public struct EvictionBudget: Hashable, Sendable {
    /// The most bytes of all items together, including their layout; 0 or more. Defaults to `nil`, no limit.
    public var bytes: Int?
    /// The longest time that a page stays without being read or fetched; 0 or more. Defaults to `nil`, no limit.
    public var age: Duration?
    /// The most pages of one query; 0 or more. Defaults to `nil`, no limit.
    public var pagesPerQuery: Int?

    /// A budget. Each parameter defaults to `nil`, no limit. A negative `bytes` or `pagesPerQuery` evicts every page
    /// that is not exempt.
    public init(bytes: Int? = nil, age: Duration? = nil, pagesPerQuery: Int? = nil) {
        self.bytes = bytes
        self.age = age
        self.pagesPerQuery = pagesPerQuery
    }
}

/// The result of an eviction.
public struct EvictionReport: Hashable, Sendable {
    /// The number of removed pages.
    public var pages: Int
    /// Bytes of the removed items, including their layout.
    public var bytes: Int
    /// The number of queries that lost pages.
    public var queries: Int
    /// Bytes of all items that are left, including pinned ones.
    public var bytesLeft: Int
    /// The unused bytes that stay in the store's file. They stay if a full disk has no room to shorten the file. They
    /// also stay if another program has switched off incremental vacuum and the file could not be rewritten. The next
    /// eviction tries again. 0 otherwise, and for storages other than a store on SQLite.
    public var unreturnedBytes = 0
    /// The number of pages that stay because they, or the records of their queries, are damaged. Always 0 for storages
    /// other than a store on SQLite. A preview does not count a damaged page whose query has a sound record.
    package var pagesDamaged = 0

    /// Creates a report.
    public init(pages: Int = 0, bytes: Int = 0, queries: Int = 0, bytesLeft: Int = 0) {
        self.pages = pages
        self.bytes = bytes
        self.queries = queries
        self.bytesLeft = bytesLeft
    }
}

/// Chooses the pages to evict, by a pure function of the candidates.
public struct EvictionPlan {
    /// The properties of a page that eviction considers.
    public struct Candidate: Hashable, Sendable {
        /// The query that the page belongs to.
        public var query: QueryID
        /// The 0-based position of the page's first item.
        public var offset: Int
        /// The bytes of the page's items, including their layout.
        public var bytes: Int
        /// The time when the page was last read or fetched.
        public var usedAt: Timestamp
        /// Whether the page stays because it is pinned, observed or exempt. An exempt page still counts towards the
        /// budget.
        public var isExempt: Bool

        /// Creates a candidate.
        public init(query: QueryID, offset: Int, bytes: Int, usedAt: Timestamp, isExempt: Bool) {
            self.query = query
            self.offset = offset
            self.bytes = bytes
            self.usedAt = usedAt
            self.isExempt = isExempt
        }
    }

    /// Returns the pages to evict, least recently used first. Pages used at the same time are evicted from the end of
    /// their lists, so that the head of a list is kept longest.
    public static func victims(
        among candidates: [Candidate], budget: EvictionBudget, at now: Timestamp
    ) -> [Candidate] {
        let order = candidates.sorted {
            ($0.usedAt, -$0.offset, $0.query.rawValue) < ($1.usedAt, -$1.offset, $1.query.rawValue)
        }
        var bytes = candidates.reduce(0) { $0 + $1.bytes }
        var pages: [QueryID: Int] = [:]
        for candidate in candidates { pages[candidate.query, default: 0] += 1 }
        return order.filter { candidate in
            guard !candidate.isExempt else { return false }
            let isOld = budget.age.map { now - candidate.usedAt > $0 } ?? false
            let isTooMany = budget.pagesPerQuery.map { pages[candidate.query, default: 0] > $0 } ?? false
            let isTooMuch = budget.bytes.map { bytes > $0 } ?? false
            guard isOld || isTooMany || isTooMuch else { return false }
            bytes -= candidate.bytes
            pages[candidate.query, default: 0] -= 1
            return true
        }
    }
}
