/// How much a storage may keep (R40); nil sets no bound. Budgets are applied when asked, not on every commit.
public struct EvictionBudget: Hashable, Sendable {
    /// Bytes of all items, with their layout. 0…. Default: no bound.
    public var bytes: Int?
    /// How long a page may go without being read or fetched. 0…. Default: no bound.
    public var age: Duration?
    /// Pages of one query. 0…. Default: no bound.
    public var pagesPerQuery: Int?

    /// A budget; what is left out sets no bound. Numbers below 0 are taken as they are: nothing may stay.
    public init(bytes: Int? = nil, age: Duration? = nil, pagesPerQuery: Int? = nil) {
        self.bytes = bytes
        self.age = age
        self.pagesPerQuery = pagesPerQuery
    }
}

/// What an eviction removed, and what is left.
public struct EvictionReport: Hashable, Sendable {
    /// Pages that were removed.
    public var pages: Int
    /// Bytes of their items, with their layout.
    public var bytes: Int
    /// Queries that lost pages.
    public var queries: Int
    /// Bytes of all items that are left, pinned ones included.
    public var bytesLeft: Int

    /// A report; each parameter is the property of its name.
    public init(pages: Int = 0, bytes: Int = 0, queries: Int = 0, bytesLeft: Int = 0) {
        self.pages = pages
        self.bytes = bytes
        self.queries = queries
        self.bytesLeft = bytesLeft
    }
}

/// Which pages to evict: a pure decision over what is there.
public struct EvictionPlan {
    /// A page as far as eviction cares.
    public struct Candidate: Hashable, Sendable {
        /// The list that it belongs to.
        public var query: QueryID
        /// 0-based position of its first item.
        public var offset: Int
        /// Bytes of its items, with their layout.
        public var bytes: Int
        /// When it was last read or fetched.
        public var usedAt: Timestamp
        /// Pinned, observed, or exempt for another reason: it counts towards the budget and stays.
        public var isExempt: Bool

        /// A page that might go; each parameter is the property of its name.
        public init(query: QueryID, offset: Int, bytes: Int, usedAt: Timestamp, isExempt: Bool) {
            self.query = query
            self.offset = offset
            self.bytes = bytes
            self.usedAt = usedAt
            self.isExempt = isExempt
        }
    }

    /// Least recently used first; of pages that were used at the same time the ones farther down their lists, so that
    /// what is left of a list is its head.
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
