import PageModel

/// Answers by position that came together, and are what was to be expected by what is known of their places: they are
/// stored in one transaction, which is the larger part of what storing a page costs.
///
/// An answer belongs here that brings what is missing in its place, agrees with what is held there, and says nothing
/// new of the list's length. Whatever else it may mean takes a look of its own, at the list as it is then.
struct SpanBatch {
    struct Part {
        var page: FetchedPage
        /// What was asked for, without what was asked for again with it (R21).
        var range: Range<Int>
        /// What the answer covers.
        var arrived: Range<Int>
        /// What of that was not held, other parts of the batch included.
        var missing: [Range<Int>]
    }

    /// How answers are read.
    struct Rules {
        var access: PagingAccess
        /// How many items a page has that is not the last; nil when that is not known for sure.
        var fullPage: Int?
    }

    private(set) var parts: [Part] = []
    /// What will be held there when the parts are stored.
    private var vicinity: Vicinity
    private let rules: Rules
    private var plan: CommitPlan
    private let fetchedAt: Timestamp
    private var bytes = 0

    /// Nobody else waits for the write lock for longer than so much takes.
    private static let most = (parts: 16, bytes: 4 << 20)

    /// - Parameter now: the time that pages of the batch count as fetched at, until they are stored.
    init(_ vicinity: Vicinity, _ rules: Rules, at now: Timestamp) {
        self.vicinity = vicinity
        self.rules = rules
        fetchedAt = now
        let record = vicinity.list.record
        plan = CommitPlan(query: record.id, version: record.version, extent: record.extent)
    }

    /// The parts, to be applied as one.
    var commit: CommitPlan { plan }

    /// Takes an answer in, unless it does not belong here, or there is no more room.
    /// - Parameters:
    ///   - overlap: how many items before `range` were asked for again.
    ///   - version: what the list was when it was asked for (R4).
    ///   - lease: the lease under which it was asked for; nil for none.
    ///   - recent: what came last; keeps what is taken in.
    mutating func add(
        _ page: FetchedPage, to range: Range<Int>, overlap: Int, under version: ListVersion?, lease: LeaseToken?,
        _ recent: inout RecentPages
    ) -> Bool {
        let start = range.lowerBound - overlap
        let arrived = start..<start + page.content.count
        guard
            parts.isEmpty
                || parts.count < SpanBatch.most.parts && bytes + page.content.bytes.count <= SpanBatch.most.bytes,
            page.content.count > overlap, let list = vicinity.list(at: arrived),
            version == nil || version == list.record.version,
            !list.record.total.contradicts(page.total),
            arrived.upperBound <= min(list.record.end ?? .max, list.record.total.count ?? .max),
            !page.saysMore || arrived.upperBound != list.record.total.exactCount,
            EndOfList.decide(page.knowing(list.record.total), at: start, full: rules.fullPage, access: rules.access)
                == .more
        else { return false }
        let missing = list.coverage.gaps(in: arrived)
        let identities = page.content.identities
        guard !missing.isEmpty,
            missing == [arrived] || recent.agree(with: identities, at: arrived, pages: list.heldPages) == true
        else { return false }
        for page in list.heldPages where page.range.overlaps(arrived) && !isOwn(page) {
            let premise = PagePremise(offset: page.offset, fingerprint: page.fingerprint)
            if !plan.premises.contains(premise) { plan.premises.append(premise) }
        }
        plan.ledger += LedgerEdit.arrived(range, from: start, list, lease: lease)
        for write in page.writes(missing, from: start) {
            let fingerprint = recent.keep(identities[write.range.lowerBound - start..<write.range.upperBound - start])
            vicinity.put(write, fingerprint, at: fetchedAt)
            plan.edits.append(.put(write))
        }
        // R21: what was received with what is held proves the seams between them.
        plan.edits.append(.verify(arrived))
        bytes += page.content.bytes.count
        parts.append(Part(page: page, range: range, arrived: arrived, missing: missing))
        return true
    }

    /// Whether a page will be held by this very plan.
    private func isOwn(_ page: PageSummary) -> Bool {
        plan.edits.contains { if case .put(let write) = $0 { write.offset == page.offset } else { false } }
    }
}

extension FetchedPage {
    /// Its items at these positions, to be stored.
    ///
    /// The answer itself shows what comes before an item that is not its first: the seam is verified when the page is
    /// written (G1), so that its row is written once.
    /// - Parameter start: the position of its first item.
    func writes(_ missing: [Range<Int>], from start: Int) -> [PageWrite] {
        missing.map { gap in
            let part = gap.lowerBound - start..<gap.upperBound - start
            return PageWrite(
                offset: gap.lowerBound, content: content.slice(part),
                evidence: gap.lowerBound > start ? .verified : .inferred,
                validator: part == 0..<content.count ? validator : nil)
        }
    }
}

extension LedgerEdit {
    /// The page at `range` has arrived. Its record stays with the items: one that came before its predecessor begins
    /// with what they have in common.
    /// - Parameters:
    ///   - start: the position of the answer's first item.
    ///   - lease: the lease under which the page was asked for; nil for none.
    static func arrived(_ range: Range<Int>, from start: Int, _ list: ListOutline, lease: LeaseToken?) -> [LedgerEdit] {
        let first = list.coverage.gaps(in: start..<range.lowerBound + 1).first?.lowerBound ?? range.lowerBound
        let left: [LedgerEdit] = first == range.lowerBound ? [] : [.forgotten(offset: range.lowerBound, lease: lease)]
        return left + [.succeeded(offset: first, lease: lease)]
    }
}
