import PageModel

/// Answers to requests by position that are stored in one transaction. One commit for many pages is cheaper than one
/// for each page, because committing is the larger part of the cost of storing a page.
///
/// An answer joins the batch only if it is as expected. It holds the missing items at its position, agrees with the
/// held ones there, and shows no new length of the list. Any other answer is handled alone, after the list was read
/// again.
struct SpanBatch {
    struct Part {
        var page: FetchedPage
        /// The requested positions, without the overlap (R21).
        var range: Range<Int>
        /// The positions that the answer covers.
        var arrived: Range<Int>
        /// The positions of `arrived` that were not held, neither in the list nor by other parts of the batch.
        var missing: [Range<Int>]
    }

    /// How the answers of the batch are interpreted.
    struct Rules {
        var access: PagingAccess
        /// The number of items of a page that is not the last. `nil` means that the number is not certain.
        var fullPage: Int?
    }

    private(set) var parts: [Part] = []
    /// The list as it will be when the parts are stored.
    private var outlineCache: OutlineCache
    private let rules: Rules
    private var plan: CommitPlan
    private let fetchedAt: Timestamp
    private var bytes = 0

    /// The size of a batch is limited, because other writers wait for the write lock during its commit.
    private static let most = (parts: 16, bytes: 4 << 20)

    /// - Parameters:
    ///   - outlineCache: the outline of the positions, as of the leases of the requests.
    ///   - rules: how the answers are interpreted.
    ///   - now: the time at which the pages of the batch count as fetched until they are stored.
    init(_ outlineCache: OutlineCache, _ rules: Rules, at now: Timestamp) {
        self.outlineCache = outlineCache
        self.rules = rules
        fetchedAt = now
        let record = outlineCache.list.record
        plan = CommitPlan(query: record.id, version: record.version, expectedLength: record.extent)
    }

    /// All parts as one commit.
    var commit: CommitPlan { plan }

    /// Adds an answer. Returns false when the answer does not belong to the batch, or the batch is full.
    /// - Parameters:
    ///   - page: the answer.
    ///   - range: the requested positions, without the overlap.
    ///   - overlap: the number of items before `range` that were requested again.
    ///   - version: the version of the list when the request was sent (R4). `nil` means that any version will do.
    ///   - lease: the lease of the request. `nil` means that it has none.
    ///   - recent: the recently arrived pages. The pages that the batch stores are added to them.
    mutating func add(
        _ page: FetchedPage, to range: Range<Int>, overlap: Int, under version: ListVersion?, lease: LeaseToken?,
        _ recent: inout RecentPages
    ) -> Bool {
        let start = range.lowerBound - overlap
        let arrived = start..<start + page.content.count
        guard
            parts.isEmpty
                || parts.count < SpanBatch.most.parts && bytes + page.content.bytes.count <= SpanBatch.most.bytes,
            page.detectedPaging == nil, page.content.count > overlap, let list = outlineCache.list(at: arrived),
            version == nil || version == list.record.version,
            !list.record.total.contradicts(page.total),
            arrived.upperBound <= min(list.record.end ?? .max, list.record.total.count ?? .max),
            !list.record.allowsDuplicates || arrived.upperBound <= list.record.total.exactCount ?? 0,
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
            let precondition = PagePrecondition(offset: page.offset, fingerprint: page.fingerprint)
            if !plan.preconditions.contains(precondition) { plan.preconditions.append(precondition) }
        }
        plan.ledger += LedgerEdit.arrived(range, from: start, list, lease: lease)
        for write in page.writes(missing, from: start) {
            let fingerprint = recent.keep(identities[write.range.lowerBound - start..<write.range.upperBound - start])
            outlineCache.put(write, fingerprint, at: fetchedAt)
            plan.edits.append(.insertPage(write))
        }
        // Items that arrived together with held items prove the seams between them (R21).
        plan.edits.append(.markContiguous(arrived))
        bytes += page.content.bytes.count
        parts.append(Part(page: page, range: range, arrived: arrived, missing: missing))
        return true
    }

    /// Whether the page is held only because this batch stores it.
    private func isOwn(_ page: PageSummary) -> Bool {
        plan.edits.contains { if case .insertPage(let write) = $0 { write.offset == page.offset } else { false } }
    }
}

extension FetchedPage {
    /// Returns the page's items at these positions as pages to store.
    ///
    /// An answer proves the seam before each of its items but the first. Such a seam is marked as verified when the
    /// page is first written (G1), so that the row is written only once.
    /// - Parameters:
    ///   - missing: the positions to store.
    ///   - start: the position of the page's first item.
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
    /// Returns the ledger edits for the answer to a request for `range`. The record is kept at the first missing
    /// position, because the stored page may begin inside the overlap.
    /// - Parameters:
    ///   - range: the requested positions.
    ///   - start: the position of the answer's first item.
    ///   - list: the list before the page is stored.
    ///   - lease: the lease of the request. `nil` means that it has none.
    static func arrived(_ range: Range<Int>, from start: Int, _ list: ListOutline, lease: LeaseToken?) -> [LedgerEdit] {
        let first = list.coverage.gaps(in: start..<range.lowerBound + 1).first?.lowerBound ?? range.lowerBound
        let left: [LedgerEdit] = first == range.lowerBound ? [] : [.deleted(offset: range.lowerBound, lease: lease)]
        return left + [.succeeded(offset: first, lease: lease)]
    }
}
