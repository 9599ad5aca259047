/// The properties of a list that a refresh needs when page one is unchanged, read in one transaction (R2). Reading a
/// state costs the same however many pages the list has: see `PageStorage.state(of:)`.
public struct ListState: Hashable, Sendable {
    /// The record of the list as a whole.
    public var record: QueryRecord
    /// A summary of the held positions. `nil` when the storage keeps none, because the list has more than 64 segments
    /// or was damaged; `PageStorage.outline(of:)` then shows the pages.
    public var holdings: ListHoldings?
    /// The held page at position 0; `nil` when there is none.
    public var pageOne: PageOne?
    /// Ledger entries of failing pages, by offset; `nil` when there are more than ``mostFailures``.
    public var failures: [LedgerEntry]?
    /// The highest offset with a ledger entry; `nil` without entries.
    public var lastLedgerOffset: Int?
    /// The storage's time of the read, for comparison with the times in the state (R52). Not part of equality.
    public var readAt: Timestamp

    /// The most failing pages that a state contains: 64.
    public static let mostFailures = 64

    /// Page one, and the identities of its items.
    public struct PageOne: Hashable, Sendable {
        /// The page without its items.
        public var summary: PageSummary
        /// The identities of its items, in order. `nil` when the items cannot be read or fail their checksum, and in a
        /// state that was computed from an outline.
        public var identities: [ItemIdentity]?

        /// Creates a page one.
        public init(summary: PageSummary, identities: [ItemIdentity]?) {
            self.summary = summary
            self.identities = identities
        }
    }

    /// Creates a state.
    public init(
        record: QueryRecord, holdings: ListHoldings?, pageOne: PageOne? = nil, failures: [LedgerEntry]?,
        lastLedgerOffset: Int? = nil, readAt: Timestamp
    ) {
        self.record = record
        self.holdings = holdings
        self.pageOne = pageOne
        self.failures = failures
        self.lastLedgerOffset = lastLedgerOffset
        self.readAt = readAt
    }

    /// The state of a list, computed from its outline. It lacks the identities of page one.
    public init(_ list: ListOutline) {
        let failing = list.ledger.filter(\.state.isFailure)
        self.init(
            record: list.record,
            holdings: ListHoldings(list.pages, generation: list.record.version.generation),
            pageOne: list.heldPages.first { $0.offset == 0 }.map { PageOne(summary: $0, identities: nil) },
            failures: failing.count <= ListState.mostFailures ? failing : nil,
            lastLedgerOffset: list.ledger.last?.offset, readAt: list.readAt)
    }

    public static func == (left: ListState, right: ListState) -> Bool {
        left.record == right.record && left.holdings == right.holdings && left.pageOne == right.pageOne
            && left.failures == right.failures && left.lastLedgerOffset == right.lastLedgerOffset
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(record)
        hasher.combine(holdings)
        hasher.combine(pageOne)
        hasher.combine(failures)
        hasher.combine(lastLedgerOffset)
    }

    /// The best known length of the list, as ``ListOutline/length`` defines it; `nil` without holdings.
    public var length: Int? {
        guard let holdings else { return nil }
        return record.end ?? record.total.count.map { max($0, holdings.end) } ?? holdings.end
    }

    /// Whether every position of the list is held and the end is known, as ``ListOutline/isComplete`` defines it; `nil`
    /// without holdings.
    public var isComplete: Bool? {
        guard let holdings, let length else { return nil }
        let isReached = record.total.exactCount == length && pageOne?.summary.cursorOut == nil
        return (record.end != nil || isReached) && holdings.held.gaps(below: length).isEmpty
            && record.validatedAt != nil && !record.isCutOff
    }

    /// Whether all positions in the origin's result window are held, as ``ListOutline/isAtResultWindow`` defines it;
    /// `nil` without holdings.
    public var isAtResultWindow: Bool? {
        guard let holdings else { return nil }
        guard let window = record.resultWindow, record.isCutOff, record.validatedAt != nil else { return false }
        return holdings.held.gaps(below: window).isEmpty
    }
}
