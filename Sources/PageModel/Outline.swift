/// A list as far as decisions need it, read in one transaction (R2): the record, every page without its items, and
/// the ledger.
public struct ListOutline: Hashable, Sendable {
    /// What is known of the list as a whole.
    public var record: QueryRecord
    /// By offset, ascending; pages of older generations included.
    public var pages: [PageSummary]
    /// By offset, ascending.
    public var ledger: [LedgerEntry]
    /// Positions whose page records the storage cannot read, or does not believe; ascending. They hold no page. An
    /// empty range marks a damaged place that hides no position. Default: none.
    public var damaged: [Range<Int>]
    /// The storage's time of the read: what the times in the outline are compared with (R52). Not part of equality: the
    /// same list read twice is equal.
    public var readAt: Timestamp

    /// An outline; `pages`, `ledger` and `damaged` have to ascend. `damaged` defaults to none.
    public init(
        record: QueryRecord, pages: [PageSummary], ledger: [LedgerEntry], damaged: [Range<Int>] = [], readAt: Timestamp
    ) {
        self.record = record
        self.pages = pages
        self.ledger = ledger
        self.damaged = damaged
        self.readAt = readAt
    }

    public static func == (left: ListOutline, right: ListOutline) -> Bool {
        left.record == right.record && left.pages == right.pages && left.ledger == right.ledger
            && left.damaged == right.damaged
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(record)
        hasher.combine(pages)
        hasher.combine(ledger)
        hasher.combine(damaged)
    }

    /// Which content the outline was read of (R51).
    public var contentVersion: ContentVersion { record.contentVersion }

    /// The pages that count as held.
    public var heldPages: [PageSummary] {
        let generation = record.version.generation
        // Nearly always all of them are, and then nothing is copied.
        return pages.allSatisfy { $0.generation == generation } ? pages : pages.filter { $0.generation == generation }
    }

    /// What is held of the list's current generation.
    public var coverage: Coverage {
        let generation = record.version.generation
        return Coverage(pages.lazy.filter { $0.generation == generation }.map(\.range))
    }

    /// How long the list is, as far as anyone knows: where it ended, what the origin counts, or what is held.
    public var length: Int {
        record.end ?? record.total.count.map { max($0, coverage.runs.last?.upperBound ?? 0) }
            ?? coverage.runs.last?.upperBound ?? 0
    }

    /// The positions that are known to be missing. What lies beyond an unknown end is not in here: see `isComplete`.
    public var gaps: [Range<Int>] {
        coverage.gaps(below: length)
    }

    /// Whether every position of the list is held, and the end is known.
    public var isComplete: Bool {
        (record.end != nil || record.total.exactCount != nil) && gaps.isEmpty && record.validatedAt != nil
            && !record.isCutOff
    }

    /// Whether every position that the origin returns is held, and its result window leaves out the rest.
    public var isAtWindow: Bool {
        guard let window = record.window, record.isCutOff, record.validatedAt != nil else { return false }
        return coverage.gaps(below: window).isEmpty
    }

    /// Held share of the list, 0…1; nil where its length is unknown.
    public var coveredShare: Double? {
        guard record.end != nil || record.total.count != nil else { return nil }
        return length == 0 ? 1 : min(1, Double(coverage.count) / Double(length))
    }

    /// Seams inside runs that are believed but not proven (G1).
    public var inferredSeams: Int {
        heldPages.reduce(inferredOuterSeams.count) { $0 + $1.innerInferredSeams.count }
    }

    /// Those among ``inferredSeams`` where the page behind was reached by the very cursor the page before it gave: the
    /// origin's own word for what comes next. No answer ever holds both sides of such a seam, so a sweep does not prove
    /// it either (R23).
    public var chainedSeams: Int {
        inferredOuterSeams.count { left, right in right.isReached(from: left) }
    }

    /// Neighbouring pages whose order is believed and not proven.
    private var inferredOuterSeams: [(left: PageSummary, right: PageSummary)] {
        let pages = heldPages.filter { $0.count > 0 }
        return zip(pages, pages.dropFirst()).compactMap { left, right in
            right.offset == left.range.upperBound && right.evidence == .inferred ? (left, right) : nil
        }
    }

    /// Ledger entries of failing pages, soonest next attempt first.
    public var failures: [LedgerEntry] {
        ledger.filter(\.state.isFailure).sorted {
            ($0.nextAttemptAt?.milliseconds ?? .max, $0.offset) < ($1.nextAttemptAt?.milliseconds ?? .max, $1.offset)
        }
    }

    /// The age of the list by the policy, which is that of page one; nil before the first answer.
    public func freshness(_ policy: FreshnessPolicy, now: Timestamp) -> Freshness? {
        policy.freshness(of: record, now: now)
    }
}

/// The items of a stretch of a list, read in one transaction together with the record that they belong to (R2).
public struct ListWindow: Hashable, Sendable {
    /// A page, or the part of it that lies in the window.
    public struct Part: Hashable, Sendable {
        /// Position of the part's first item.
        public var offset: Int
        /// Its items.
        public var content: PageContent
        /// Whether it belongs to the list's current generation; otherwise it is the old run (R19).
        public var isHeld: Bool
        /// When the origin last confirmed the page it is of.
        public var validatedAt: Timestamp

        /// A part; each parameter is the property of its name.
        public init(offset: Int, content: PageContent, isHeld: Bool, validatedAt: Timestamp) {
            self.offset = offset
            self.content = content
            self.isHeld = isHeld
            self.validatedAt = validatedAt
        }

        /// The positions of its items.
        public var range: Range<Int> { offset..<offset + content.count }
    }

    /// The list that it is of.
    public var record: QueryRecord
    /// The positions that were asked for.
    public var range: Range<Int>
    /// By offset, ascending.
    public var parts: [Part]
    /// Positions in the window whose page record or items cannot be read, or fail their checksum: a miss, never wrong
    /// bytes. An empty range marks a damaged place that hides no position.
    public var damaged: [Range<Int>]
    /// The storage's time of the read: what the times in the window are compared with (R52). Not part of equality.
    public var readAt: Timestamp

    /// A window; `parts` have to ascend by offset.
    public init(record: QueryRecord, range: Range<Int>, parts: [Part], damaged: [Range<Int>], readAt: Timestamp) {
        self.record = record
        self.range = range
        self.parts = parts
        self.damaged = damaged
        self.readAt = readAt
    }

    public static func == (left: ListWindow, right: ListWindow) -> Bool {
        left.record == right.record && left.range == right.range && left.parts == right.parts
            && left.damaged == right.damaged
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(record)
        hasher.combine(range)
        hasher.combine(parts)
        hasher.combine(damaged)
    }

    /// The version of the list that it was read of.
    public var version: ListVersion { record.version }
    /// Which content the window was read of (R51).
    public var contentVersion: ContentVersion { record.contentVersion }

    /// Positions in the window that hold no item at all, damaged ones included.
    public var missing: [Range<Int>] {
        Coverage(parts.map(\.range)).gaps(in: range)
    }
}

/// One line about a query, for lists of queries.
public struct QuerySummary: Hashable, Sendable {
    /// The list without its items.
    public var outline: ListOutline
    /// Bytes of payloads and page records stored for it.
    public var bytes: Int

    /// A summary; each parameter is the property of its name.
    public init(outline: ListOutline, bytes: Int) {
        self.outline = outline
        self.bytes = bytes
    }
}
