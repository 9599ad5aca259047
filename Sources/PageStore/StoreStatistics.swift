public import PageModel

/// What a store holds and takes up, read in one transaction (R2); the sizes of the files are those of the same moment,
/// as near as a file system tells them.
public struct StoreStatistics: Hashable, Sendable {
    /// One list.
    public struct Query: Hashable, Sendable {
        /// The list without its items, and its size.
        public var summary: QuerySummary
        /// What its runs have cost; empty where nobody counted.
        public var tally: RunTally

        /// One list's figures; each parameter is the property of its name.
        public init(summary: QuerySummary, tally: RunTally) {
            self.summary = summary
            self.tally = tally
        }

        /// Items that count as held.
        public var items: Int { summary.outline.coverage.count }

        /// How many entries of the ledger are in each state; states that none is in are absent.
        public var ledger: [FetchState: Int] {
            summary.outline.ledger.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
        }
    }

    /// By id; those whose record is damaged are left out.
    public var queries: [Query]
    /// Bytes of the store file.
    public var fileBytes: Int
    /// Bytes of the write-ahead log, which is merged into the file from time to time.
    public var logBytes: Int
    /// Bytes of the file that nothing is stored in: they are used before the file grows.
    public var freeBytes: Int
    /// The schema that the store has.
    public var schema: Int

    /// Figures of a store; each parameter is the property of its name.
    public init(queries: [Query], fileBytes: Int, logBytes: Int, freeBytes: Int, schema: Int) {
        self.queries = queries
        self.fileBytes = fileBytes
        self.logBytes = logBytes
        self.freeBytes = freeBytes
        self.schema = schema
    }

    /// The sums over all queries.
    public var tally: RunTally { queries.reduce(RunTally()) { $0 + $1.tally } }
    /// Items that count as held, of all queries.
    public var items: Int { queries.reduce(0) { $0 + $1.items } }
    /// Pages, of all queries; those of older generations included.
    public var pages: Int { queries.reduce(0) { $0 + $1.summary.outline.pages.count } }
    /// Bytes of all page bodies with their layout.
    public var bytes: Int { queries.reduce(0) { $0 + $1.summary.bytes } }
    /// How many entries of all ledgers are in each state; states that none is in are absent.
    public var ledger: [FetchState: Int] {
        queries.reduce(into: [:]) { $0.merge($1.ledger, uniquingKeysWith: +) }
    }
}

extension StoreReading {
    func statistics() throws(StorageError) -> StoreStatistics {
        let tallies = try TallyTable.all(in: connection)
        let queries = try summaries().map {
            StoreStatistics.Query(summary: $0, tally: tallies[$0.outline.record.id] ?? RunTally())
        }
        let (free, isTooMuch) = try connection.pragma("freelist_count").multipliedReportingOverflow(
            by: connection.pragma("page_size"))
        return StoreStatistics(
            queries: queries, fileBytes: StoreFile.size(connection.path),
            logBytes: StoreFile.size(connection.path + "-wal"),
            freeBytes: isTooMuch ? 0 : Int(free), schema: Int(try connection.pragma("user_version")))
    }
}
