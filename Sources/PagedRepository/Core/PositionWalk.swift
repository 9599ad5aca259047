import PageModel

/// The walk through the pages of an origin with hidden items, requested one after the other by position (R53). Decides
/// which request follows an answer, and whether the list ends after it. Pure logic, without I/O.
struct PositionWalk: Equatable {
    /// An answer to a request by position.
    struct Answer {
        var page: FetchedPage
        /// The request.
        var cursor: PositionCursor
        /// The number of items that the walk received before the answer.
        var offset: Int
        /// The number of items at the head of the answer that are the last received ones, in their order.
        var repeated: Int
        /// Whether the answer has items that were all received before, and does not begin with the last received ones.
        var isKnown: Bool
    }

    /// The largest number of items that an answer had.
    private(set) var span = 0
    /// The total of the last page one, as the origin stated it.
    private(set) var headTotal = ListTotal.unknown
    /// Whether a page lacked items since `restart()`.
    private(set) var sawHidden = false
    /// Whether a page of any walk lacked items.
    private(set) var hasSeenHidden = false
    /// Whether an answer said that more items follow.
    private var saidMore = false
    /// Whether a page had fewer items than another one.
    private var wasShort = false
    /// Whether new items were received after all positions that the total counts. The total then counts visible items
    /// only.
    private var isBehindTotal = false
    /// Whether the last answer was a whole page of items that had all been received before. Hidden items cannot cause
    /// such a page: the origin repeats its last page, whatever the total counts.
    private(set) var repeatsLastPage = false
    /// The number of consecutive answers without items.
    private var emptyAnswers = 0
    /// The number of consecutive answers with known items only.
    private var knownAnswers = 0
    /// The items of the last answer, if all of them were known.
    private var lastKnown: [UInt64] = []
    /// The number of consecutive positions that returned `lastKnown`, and the last of these positions.
    private var sameAnswers = 0
    private var lastPosition: PositionCursor?
    /// Whether the origin says that more items follow, and returns the same known items at too many consecutive
    /// positions (R24). After an answer with n known items only, the next request begins n positions later, and an
    /// answer covers `span` positions. So the same n items arrive at `span / n` consecutive positions at most, unless
    /// the origin ignores positions.
    private(set) var repeatsForEver = false

    /// Begins another walk. Forgets most of what the last walk has seen of the list.
    mutating func restart() {
        (sawHidden, wasShort, isBehindTotal) = (false, false, false)
        (emptyAnswers, knownAnswers, sameAnswers, lastKnown) = (0, 0, 0, [])
        repeatsForEver = false
    }

    /// Returns page one with the cursor of the next page.
    mutating func head(_ page: FetchedPage, _ access: PagingAccess) -> FetchedPage {
        headTotal = page.total
        var page = withItsEnd(page)
        let count = page.content.count
        span = max(span, count)
        let next = PositionCursor.first(access).next(received: count, new: count, span: span)
        // Page one can arrive during a walk. Later pages that repeat items do not end the list with it.
        let known = knownAnswers
        knownAnswers = 0
        page.next = goesOn(page, behind: next, after: count, received: count, access) ? next.cursor : nil
        knownAnswers = known
        return page
    }

    /// Returns the items of an answer that had not been received before, with the cursor of the next page. Returns nil
    /// when the answer shows that the list has moved, because the last received item should have arrived again and did
    /// not.
    /// - Parameters:
    ///   - answer: the answer, with its request.
    ///   - known: the stored total of the list.
    ///   - access: the way in which pages can be requested from the origin.
    mutating func follow(_ answer: Answer, known: ListTotal, _ access: PagingAccess) -> FetchedPage? {
        var page = withItsEnd(answer.page)
        let received = page.content.count
        // After all counted positions, known items are the last page again, or the first one (R24).
        let isBehind = page.total.count.map { answer.cursor.offset(access) ?? 0 >= $0 } ?? true
        if isBehind, answer.isKnown, page.hasMore == nil {
            repeatsLastPage = received > 1 && received >= span
            page.content = PageContent()
            page.next = nil
            return page
        }
        if case .offset(_, repeatsLast: true) = answer.cursor, answer.repeated == 0 { return nil }
        let new = received - answer.repeated
        if isBehind, new > 0, page.total.count != nil { isBehindTotal = true }
        // Only the last page may be short. Any other short page, or an item from farther back, shows that items are
        // hidden.
        if answer.repeated > 1 || wasShort && new > 0 { (sawHidden, hasSeenHidden) = (true, true) }
        span = max(span, received)
        wasShort = wasShort || received < span
        knownAnswers = received > 0 && new == 0 ? knownAnswers + 1 : 0
        countSame(answer, isKnown: received > 0 && (new == 0 || answer.isKnown))
        repeatsLastPage = new == 0 && received > 1 && received >= span
        let next = answer.cursor.next(received: received, new: new, span: span)
        let isMore = goesOn(page.knowing(known), behind: next, after: answer.offset + new, received: received, access)
        emptyAnswers = received == 0 ? emptyAnswers + 1 : 0
        if answer.repeated > 0 {
            page.content = page.content.slice(answer.repeated..<received)
            page.validator = nil
        }
        page.next = isMore ? next.cursor : nil
        return page
    }

    /// Counts the consecutive positions at which the origin returns the same known items. A request that is repeated
    /// counts once.
    private mutating func countSame(_ answer: Answer, isKnown: Bool) {
        let keys = isKnown ? answer.page.content.identities.map(\.key) : []
        if keys != lastKnown { sameAnswers = 0 }
        if keys != lastKnown || answer.cursor != lastPosition { sameAnswers += 1 }
        (lastKnown, lastPosition) = (keys, answer.cursor)
        repeatsForEver = answer.page.hasMore == true && isKnown && sameAnswers > max(span, 1) / keys.count
    }

    /// Whether the exact total of page one differs from the total of the list. This can be so although the items of
    /// page one are unchanged.
    func countsOtherwise(than total: ListTotal) -> Bool { headTotal.exactCount.map { $0 != total.count } ?? false }

    /// Whether the exact total of page one equals the total of the list. A total that counts hidden items still shows
    /// whether the list has grown.
    func countsAlike(_ total: ListTotal) -> Bool { headTotal.exactCount.map { $0 == total.count } ?? false }

    /// Returns the page with an explicit end, if earlier answers said that more items follow and this one does not.
    private mutating func withItsEnd(_ page: FetchedPage) -> FetchedPage {
        if page.hasMore == true { saidMore = true }
        guard page.hasMore == nil, saidMore, page.total.exactCount == nil else { return page }
        var page = page
        page.hasMore = false
        return page
    }

    /// Whether the list continues after an answer. The total may or may not count the hidden items. So the list
    /// continues until that many items were received, or until two pages after the counted positions were empty.
    /// Without a total, two empty pages in a row are the end.
    private func goesOn(
        _ page: FetchedPage, behind next: PositionCursor, after count: Int, received: Int, _ access: PagingAccess
    ) -> Bool {
        if let hasMore = page.hasMore { return hasMore }
        if page.total.exactCount == count { return false }
        // The last received item can arrive again in as many answers as a page has positions. More such answers show
        // that the origin repeats its last page (R24).
        if received > 0 { return knownAnswers <= span + 1 }
        guard let total = page.total.count else { return emptyAnswers == 0 }
        guard count < total, let position = next.offset(access) else { return false }
        if isBehindTotal { return emptyAnswers < PositionWalk.mostEmptyAnswers }
        let size = if case .grid(let grid) = access { grid } else { max(span, 1) }
        return position < total + 2 * size || emptyAnswers == 0
    }

    /// The number of consecutive empty pages that end the walk if the total counts visible items only.
    private static let mostEmptyAnswers = 20
}
