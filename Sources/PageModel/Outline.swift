/// The properties of a list that decisions need, read in one transaction (R2): the record, every page without its
/// items, and the ledger.
public struct ListOutline: Hashable, Sendable {
    /// The record of the list as a whole.
    public var record: QueryRecord
    /// The pages by offset, ascending, including pages of older generations.
    public var pages: [PageSummary]
    /// The ledger entries by offset, ascending.
    public var ledger: [LedgerEntry]
    /// Positions whose page records are unreadable or invalid, ascending. They hold no page. An empty range marks
    /// damage that hides no position. Defaults to none.
    public var damaged: [Range<Int>]
    /// The storage's time of the read, for comparison with the times in the outline (R52). Not part of equality: two
    /// reads of the same list are equal.
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

    /// The version of the content that the outline was read from (R51).
    public var contentVersion: ContentVersion { record.contentVersion }

    /// The pages that count as held.
    public var heldPages: [PageSummary] {
        let generation = record.version.generation
        // Usually all pages are held, and then no copy is made.
        return pages.allSatisfy { $0.generation == generation } ? pages : pages.filter { $0.generation == generation }
    }

    /// The held positions of the list's current generation.
    public var coverage: Coverage {
        let generation = record.version.generation
        return Coverage(pages.lazy.filter { $0.generation == generation }.map(\.range))
    }

    /// The best known length of the list. That is its end if the end is known. Otherwise it is the larger of the
    /// origin's total and the position after the last held item. Without a total it is that position alone.
    public var length: Int {
        record.end ?? record.total.count.map { max($0, coverage.segments.last?.upperBound ?? 0) }
            ?? coverage.segments.last?.upperBound ?? 0
    }

    /// The positions below `length` that are not held. Positions beyond an unknown end are not included: see
    /// `isComplete`.
    public var gaps: [Range<Int>] {
        coverage.gaps(below: length)
    }

    /// Whether every position of the list is held, and its end is known or its total is exact. An exact total below the
    /// number of held items does not count. False before the first answer for page one, and when the origin's result
    /// window cuts the list off. False for a chain whose end is not known: its last page may name a next page (R24).
    public var isComplete: Bool {
        (record.end != nil || record.total.exactCount == length && !isOpenChain) && gaps.isEmpty
            && record.validatedAt != nil && !record.isCutOff
    }

    /// Whether the list may be only a part of the origin's list, although its gaps do not show that. For a complete
    /// list: the last run that refreshed it ended as unproven (R24). For an incomplete list: no request for a page
    /// after page one is known.
    public var isUnproven: Bool { isComplete ? record.isUnproven : record.isOnePage }

    /// Whether the held page one names a next page, and the end of the list is not known. A reached total does not end
    /// such a list (R24).
    package var isOpenChain: Bool {
        record.end == nil && heldPages.first { $0.offset == 0 }?.cursorOut != nil
    }

    /// Whether every position in the origin's result window is held, and the window cuts the list off.
    public var isAtResultWindow: Bool {
        guard let window = record.resultWindow, record.isCutOff, record.validatedAt != nil else { return false }
        return coverage.gaps(below: window).isEmpty
    }

    /// Whether items are held after the origin's result window. Either the origin has returned items there, or an
    /// insert has moved held items there.
    package var holdsItemsBehindResultWindow: Bool {
        guard let window = record.resultWindow else { return false }
        return heldPages.contains { $0.count > 0 && $0.range.upperBound > window }
    }

    /// The held share of the list, from 0 to 1. `nil` when neither the end nor a total is known. For an unproven list, and
    /// for a list that a result window cuts off, the share is that of the total. It is `nil` if the total does not count
    /// more items than are held.
    public var coveredShare: Double? {
        guard record.end != nil || record.total.count != nil else { return nil }
        let isPart = isUnproven || record.isCutOff
        let counted = isPart ? record.total.count ?? 0 : length
        guard !isPart || counted > coverage.count else { return nil }
        return counted == 0 ? 1 : min(1, Double(coverage.count) / Double(counted))
    }

    /// The number of seams between held neighbours that are inferred, not verified (G1).
    public var inferredSeams: Int {
        heldPages.reduce(inferredOuterSeams.count) { $0 + $1.innerInferredSeams.count }
    }

    /// The number of ``inferredSeams`` where the later page was fetched with the cursor of the earlier page. The origin
    /// itself gave this order. No single answer contains both sides of such a seam, so that a sweep cannot verify it
    /// either (R23).
    public var chainedSeams: Int {
        inferredOuterSeams.count { left, right in right.isReached(from: left) }
    }

    /// Pairs of neighbouring pages whose order is inferred.
    private var inferredOuterSeams: [(left: PageSummary, right: PageSummary)] {
        let pages = heldPages.filter { $0.count > 0 }
        return zip(pages, pages.dropFirst()).compactMap { left, right in
            right.offset == left.range.upperBound && right.evidence == .inferred ? (left, right) : nil
        }
    }

    /// Ledger entries of failing pages, ordered by their next attempt, soonest first. Entries without a next attempt
    /// come last.
    public var failures: [LedgerEntry] {
        ledger.filter(\.state.isFailure).sorted {
            ($0.nextAttemptAt?.milliseconds ?? .max, $0.offset) < ($1.nextAttemptAt?.milliseconds ?? .max, $1.offset)
        }
    }

    /// Returns the freshness of the list by the policy, decided by the age of page one; `nil` before the first answer.
    public func freshness(_ policy: FreshnessPolicy, now: Timestamp) -> Freshness? {
        policy.freshness(of: record, now: now)
    }
}

/// The items in a range of a list, read in one transaction together with the list's record (R2).
public struct ListWindow: Hashable, Sendable {
    /// A page, or the part of a page that lies within the window.
    public struct Part: Hashable, Sendable {
        /// The position of the part's first item.
        public var offset: Int
        /// The items of the part.
        public var content: PageContent
        /// Whether the part belongs to the list's current generation; otherwise it is left from an older one (R19).
        public var isHeld: Bool
        /// The time when the page was last validated.
        public var validatedAt: Timestamp

        /// Creates a part.
        public init(offset: Int, content: PageContent, isHeld: Bool, validatedAt: Timestamp) {
            self.offset = offset
            self.content = content
            self.isHeld = isHeld
            self.validatedAt = validatedAt
        }

        /// The positions of the part's items.
        public var range: Range<Int> { offset..<offset + content.count }
    }

    /// The record of the list.
    public var record: QueryRecord
    /// The requested positions.
    public var range: Range<Int>
    /// The parts by offset, ascending.
    public var parts: [Part]
    /// Positions in the window whose page record or items are unreadable or fail their checksum. They count as missing;
    /// damaged bytes are never returned. An empty range marks damage that hides no position.
    public var damaged: [Range<Int>]
    /// The storage's time of the read, for comparison with the times in the window (R52). Not part of equality.
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

    /// The version of the list that the window was read from.
    public var version: ListVersion { record.version }
    /// The version of the content that the window was read from (R51).
    public var contentVersion: ContentVersion { record.contentVersion }

    /// Positions in the window without an item, including damaged ones.
    public var missing: [Range<Int>] {
        Coverage(parts.map(\.range)).gaps(in: range)
    }
}

/// A query with its outline and size, for overviews of all queries.
public struct QuerySummary: Hashable, Sendable {
    /// The list without its items.
    public var outline: ListOutline
    /// Bytes of all stored items, including their layout.
    public var bytes: Int

    /// Creates a summary.
    public init(outline: ListOutline, bytes: Int) {
        self.outline = outline
        self.bytes = bytes
    }
}
