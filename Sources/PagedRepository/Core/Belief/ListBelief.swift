import PageModel

/// The conclusions from the answers of one run about the list at the origin. The run records its answers here, and
/// bases its decisions on the conclusions. Pure logic, without I/O.
///
/// The storage holds the list itself. A belief ends with its run. Its `restore` methods take over a few facts from the
/// ledger, from the stored page one, and from earlier runs.
struct ListBelief: Equatable {
    /// Page one, as it was last received or validated.
    var pageOne = PageOneBelief()
    /// How many items a page has.
    var sizes = PageSizes()
    /// The exact totals of this run's answers.
    var totals = TotalSeries()
    /// Where the list ends.
    var end = EndBelief()
    /// Whether the pages of a chain are parts of one list.
    var order = ChainOrder()
    /// Whether the order of the items within a page is meaningful.
    var pageOrder = PageOrder()
    /// Items that arrived at several positions.
    var repeats = RepeatBelief()
    /// Whether and how the list differs from the cached one.
    var drift = DriftBelief()
    /// Whether the origin leaves items out of its pages (R53).
    var hidden = HiddenBelief()
    /// The recently arrived pages that were requested by position.
    var recent = RecentPages()
    /// Whether no answer can prove that the list is complete: the origin repeats itself, its list has no order, or the
    /// list kept changing.
    var isUnproven = false

    /// Records an exact total of an answer.
    /// - Parameter before: the number of totals that had arrived when the request was sent.
    /// - Returns: whether the origin's totals alternate between values, so that they count as estimates (R25).
    mutating func observe(total: Int, askedBehind before: Int) -> Bool {
        totals.note(total, askedBehind: before)
        return totals.areUnsteady
    }

    /// Whether the origin's totals alternate between values.
    var areTotalsUnsteady: Bool { totals.areUnsteady }

    /// Whether the totals alternate, and even the smallest of them counts items after a position. The list does not end
    /// there: several replicas answer in turn, and their lists differ (R24).
    func areTotals(allAbove end: Int) -> Bool { totals.areUnsteady && totals.least ?? 0 > end }

    /// Records what an answer for page one, or for a page by position, states about the length of the list.
    mutating func observeStatement(of answer: PageAnswer, to target: FetchTarget) {
        guard case .page(let page) = answer else { return }
        switch target {
        case .firstPage: end.observe(statementOf: page, at: nil, size: sizes.size)
        case .range(let range, let overlap):
            let start = range.lowerBound - overlap
            end.observe(statementOf: page, at: start, size: sizes.size)
            end.observe(itemsOf: page, in: start..<range.upperBound)
        case .cursor, .probe, .sweep: break
        }
    }
}

/// Page one of the list, as this run knows it.
struct PageOneBelief: Equatable {
    /// The number of items of page one.
    var count = 0
    var next: PageCursor?
    var total = ListTotal.unknown
    /// The keys of the items in the last answer for page one.
    var received: [UInt64] = []
    /// The paging that came with an answer, until it is stored. An answer that has to be confirmed stores nothing, and
    /// the source does not report the paging again.
    var detectedPaging: DetectedPaging?
    /// The items of the last answer that was stored, or of the stored page one that the origin confirmed.
    private(set) var stored: [ItemIdentity] = []
    /// The keys that the last answer repeated (R25).
    private var repeated: Set<UInt64> = []
    /// How often an answer for page one repeated other keys than the answer before.
    private var otherRepeats = 0
    /// The number of such answers after which the next one is used, whatever keys it repeats.
    private static let mostOtherRepeats = 3

    /// Whether the list is longer than page one, as far as its end is known.
    func isPart(of state: ListState?) -> Bool { count > 0 && state?.record.end ?? 0 > count }

    /// Whether an answer has other items than the last answer that was stored or confirmed, or the same items in
    /// another order. Edited items do not count, because they move no other item. Some members, such as an age, change
    /// with every answer.
    func isMoved(_ page: FetchedPage) -> Bool { page.content.identities.map(\.key) != stored.map(\.key) }

    /// Whether an answer without items repeats the last answer that was stored or confirmed: no items, the same next
    /// page and no other total. Such an answer shows nothing new.
    func isEmptyAgain(_ page: FetchedPage) -> Bool {
        page.content.isEmpty && stored.isEmpty && page.next != nil && page.next == next
            && !page.total.contradicts(total)
    }

    /// Records page one as the storage holds it.
    mutating func adopt(count: Int, next: PageCursor?, total: ListTotal) {
        (self.count, self.next, self.total) = (count, next, total)
    }

    /// Records that the origin has confirmed the stored items without sending them.
    mutating func confirm(_ identities: [ItemIdentity]) {
        (stored, received) = (identities, identities.map(\.key))
    }

    /// Records an answer that is stored or confirmed.
    /// - Returns: whether the answer differs from the one before, in an item or in its total.
    mutating func recordStored(_ page: FetchedPage) -> Bool {
        let isOther = page.content.identities != stored || page.total.contradicts(total)
        stored = page.content.identities
        adopt(count: page.content.count, next: page.next, total: page.total)
        return isOther
    }

    /// Records the keys that page one repeats. Two answers in a row with the same repeated keys are proof (R25).
    /// - Returns: whether page one must be requested again, because the answer before did not repeat the same keys.
    mutating func repeats(_ keys: Set<UInt64>) -> Bool {
        defer { repeated = keys }
        guard !keys.isEmpty, keys != repeated, otherRepeats < PageOneBelief.mostOtherRepeats else { return false }
        otherRepeats += 1
        return true
    }
}

/// How many items a page of the origin has.
struct PageSizes: Equatable {
    /// The number of items of a full page (R24): the length of page one, because an origin may clamp or ignore the
    /// requested size. If the list ends with page one, the requested size counts if it is larger.
    private(set) var size = 1
    /// Whether `size` is certain, so that a page with fewer items counts as short. False if it comes from a stored page
    /// that may have been joined with others.
    private(set) var isSure = true
    /// The largest number of items in an answer to a request for a whole page by position, page one excepted.
    private(set) var longest = 0

    /// Records the number of items of page one.
    /// - Parameters:
    ///   - count: the number of items. `nil` if the answer had none, which says nothing about the size of a page.
    ///   - requested: the requested size. `nil` means that the origin decides.
    ///   - isWhole: whether the list ends with page one. A full page may then have as many items as requested.
    ///   - isSure: whether the page was received, or stored as it was received.
    mutating func observe(pageOne count: Int?, requested: Int?, isWhole: Bool, isSure: Bool) {
        if let count { size = max(count, isWhole ? requested ?? 1 : 1) }
        self.isSure = isSure
    }

    mutating func observe(page count: Int) { longest = max(longest, count) }

    /// Returns the number of items of a full page: on a grid the size of the grid, otherwise `size`. Returns nil if the
    /// size is not certain.
    func full(_ access: PagingAccess) -> Int? {
        if case .grid(let size) = access { return size }
        return isSure ? size : nil
    }

    /// Returns the number of items of a page without hidden items, as far as the answers show it. Page one itself may
    /// have hidden items. Returns nil if the size is not certain.
    func whole(_ access: PagingAccess) -> Int? { full(access).map { max($0, longest) } }
}
