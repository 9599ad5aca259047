/// The contents and the size of a store, read in one transaction (R2). The sizes of the files are read separately, at
/// nearly the same moment.
public struct StoreStatistics: Hashable, Sendable {
    /// The figures of one list.
    public struct Query: Hashable, Sendable {
        /// The list without its items, and its size.
        public var summary: QuerySummary
        /// The summed costs of its runs. Empty where no run was counted.
        public var tally: RunTally

        /// Creates the figures of a list.
        public init(summary: QuerySummary, tally: RunTally) {
            self.summary = summary
            self.tally = tally
        }

        /// The number of held items.
        public var items: Int { summary.outline.coverage.count }

        /// The number of ledger entries in each state. States without entries are absent.
        public var ledger: [FetchState: Int] {
            summary.outline.ledger.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
        }
    }

    /// The figures of each query, ordered by id. Queries with a damaged record are left out.
    public var queries: [Query]
    /// The size of the store file, in bytes.
    public var fileBytes: Int
    /// The size of the write-ahead log, in bytes. The log is merged into the file from time to time.
    public var logBytes: Int
    /// The unused bytes of the store file. They are reused before the file grows.
    public var freeBytes: Int
    /// The schema version of the store.
    public var schema: Int

    /// Creates the figures of a store.
    public init(queries: [Query], fileBytes: Int, logBytes: Int, freeBytes: Int, schema: Int) {
        self.queries = queries
        self.fileBytes = fileBytes
        self.logBytes = logBytes
        self.freeBytes = freeBytes
        self.schema = schema
    }

    /// The sum of the tallies of all queries. For the saved requests see ``requestsSaved``.
    public var tally: RunTally { queries.reduce(RunTally()) { $0 + $1.tally } }
    /// The sum of the requests that each query saved. Each query is compared with a client that requests every page in
    /// every run, and whose pages do not overlap. The failed requests of one query do not reduce the savings of
    /// another.
    public var requestsSaved: Int { queries.reduce(0) { $0.addingCapped($1.requestsSaved) } }
    /// The number of held items of all queries.
    public var items: Int { queries.reduce(0) { $0 + $1.items } }
    /// The number of pages of all queries, including those of older generations.
    public var pages: Int { queries.reduce(0) { $0 + $1.summary.outline.pages.count } }
    /// The size of all page bodies with their layout, in bytes.
    public var bytes: Int { queries.reduce(0) { $0 + $1.summary.bytes } }
    /// The number of ledger entries of all queries in each state. States without entries are absent.
    public var ledger: [FetchState: Int] {
        queries.reduce(into: [:]) { $0.merge($1.ledger, uniquingKeysWith: +) }
    }
}
