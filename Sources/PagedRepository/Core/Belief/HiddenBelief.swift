import PageModel

/// Whether the origin leaves items out of its pages, for example because the caller may not see them (R53). Also holds
/// the answers that suggest it.
struct HiddenBelief: Equatable {
    /// An answer that had fewer items than a full page.
    private struct ShortAnswer: Equatable {
        /// The keys of its items. The other members of an item, such as an age, can differ in each answer.
        var keys: [UInt64]
        /// The number of short answers at this position.
        var count = 1
    }

    /// The number of short answers at one position that prove hidden items, even if each has different items.
    private static let mostShortAnswers = 4

    /// Whether the origin hides items, so that the pages are requested one after the other.
    var isHiding = false
    /// The state of the requests that are sent one after the other.
    var walk = PositionWalk()
    /// The positions of answers that had fewer items than a full page, although the list continues after them, or may
    /// do so.
    private var shortPlaces: Set<Int> = []
    /// The last short answer at each position, to recognise the same answer when it arrives again.
    private var shortAnswers: [Int: ShortAnswer] = [:]
    /// The requests whose answers were short while no later item had arrived, by the position after the answer.
    private var undecided: [Int: FetchTarget] = [:]
    /// How often the items of an answer arrived at later positions than they are held at, while page one did not
    /// change.
    private(set) var misplaced = 0

    /// Restores from the stored page one whether the origin hides items.
    mutating func restore(_ pages: [PageSummary]) {
        isHiding = pages.contains { $0.offset == 0 && PositionCursor($0.cursorOut) != nil }
    }

    /// Resets `misplaced`, because page one has changed, which explains the other positions.
    mutating func forgetMisplaced() { misplaced = 0 }

    /// Records an answer that has fewer items than a full page, although a whole page was requested. The list continues
    /// after the answer, or may do so.
    /// - Parameter target: the request, if it is not known yet whether the list continues. `nil` otherwise.
    mutating func observe(short page: FetchedPage, at start: Int, undecided target: FetchTarget?) {
        shortPlaces.insert(start)
        guard let target, shortAnswers[start] == nil else { return }
        shortAnswers[start] = ShortAnswer(keys: page.content.identities.map(\.key))
        undecided[start + page.content.count] = target
    }

    /// Records a short answer in the middle of the list. A first one may be a fault.
    /// - Returns: whether the short answer before had the same items, or this is the fourth short answer at the
    ///   position. The origin then hides items.
    mutating func isRepeated(short identities: [ItemIdentity], at start: Int) -> Bool {
        let now = ShortAnswer(keys: identities.map(\.key), count: (shortAnswers[start]?.count ?? 0) + 1)
        let last = shortAnswers.updateValue(now, forKey: start)
        return last?.keys == now.keys || now.count >= HiddenBelief.mostShortAnswers
    }

    /// Returns the first request whose answer was short, once items after that answer have arrived, and forgets the
    /// other ones. The same answer again shows that the origin hides items. Returns an empty array in any other case.
    mutating func shortAgain(furthest: Int) -> [FetchTarget] {
        guard let (after, target) = undecided.min(by: { $0.key < $1.key }), furthest > after else { return [] }
        undecided = [:]
        return [target]
    }

    /// Whether pages in the middle of the list differ in length. A single short answer may be a fault.
    func isIrregular(_ sizes: PageSizes, _ access: PagingAccess) -> Bool {
        sizes.longest > sizes.full(access) ?? .max || shortPlaces.count > 1
    }

    /// Counts an answer whose items arrive at later positions than they are held at, while page one did not change.
    ///
    /// Hidden items move all items of an answer by the same distance. A list that repeats single ids (R25) does not.
    /// - Parameters:
    ///   - shifts: the number of positions by which each known item arrived after its held position.
    ///   - isIrregular: whether the lengths of pages are irregular.
    /// - Returns: whether enough such answers show that the origin's positions count hidden items, too. Three answers
    ///   are enough, or two if the lengths of pages are irregular.
    mutating func observe(shifts: [Int], isIrregular: Bool) -> Bool {
        guard let first = shifts.first, shifts.allSatisfy({ $0 > 0 }),
            isIrregular || shifts.count > 1 && shifts.allSatisfy({ $0 == first })
        else { return false }
        misplaced += 1
        return misplaced >= (isIrregular ? 2 : 3)
    }
}

extension ListBelief {
    /// How the pages of this list are requested: one after the other, as in a chain, if the origin hides items.
    func access(_ source: PagingAccess) -> PagingAccess {
        hidden.isHiding && source.supportsRandomAccess ? .chain : placing(source)
    }

    /// Whether an answer is shorter than a full page although the list continues after it. The origin then says so, or
    /// has returned later items in this run. Items that are held after it count only if the exact total of the answer
    /// counts more items, too.
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the requested position.
    ///   - known: the end of the items that were known when the request was sent. One of them may have been removed
    ///     since then, so they do not prove that items follow the answer. Defaults to 0.
    ///   - source: the way in which pages can be requested from the origin.
    func isShort(_ page: FetchedPage, at start: Int, known: Int = 0, _ source: PagingAccess) -> Bool {
        guard access(source).supportsRandomAccess, let whole = sizes.whole(source), page.content.count < whole else {
            return false
        }
        let after = start + page.content.count
        // If the total counts no item after a page, that page is the last one, whatever its links say.
        if let total = page.total.exactCount { return total > after && !end.isBehindKnown(after) }
        return page.hasMore == true || end.furthest > max(after, known)
    }

    /// Records the length of an answer to a request for a whole page.
    mutating func observeLength(of answer: PageAnswer, to target: FetchTarget, _ source: PagingAccess) {
        guard case .page(let page) = answer, let whole = sizes.whole(source) else { return }
        switch target {
        case .range, .sweep: break
        case .probe(let range): if range.count < sizes.size { return }
        case .firstPage, .cursor: return
        }
        sizes.observe(page: page.content.count)
        let after = target.offset + page.content.count
        guard page.content.count < whole, page.total.exactCount ?? 0 > after || end.furthest > after else { return }
        // The other answers of the same batch may still show whether the list continues after this one.
        var isUndecided = false
        if case .range = target {
            isUndecided = access(source).supportsRandomAccess && !isShort(page, at: target.offset, source)
        }
        hidden.observe(short: page, at: target.offset, undecided: isUndecided ? target : nil)
    }

    /// Counts an answer whose items arrive at later positions than they are held at; see
    /// `HiddenBelief.observe(shifts:isIrregular:)`.
    mutating func isShiftedAgain(_ shifts: [Int], _ source: PagingAccess) -> Bool {
        access(source).supportsRandomAccess
            && hidden.observe(shifts: shifts, isIrregular: hidden.isIrregular(sizes, source))
    }
}

extension ListBelief {
    /// Whether the answers of a walk by position show that the origin ignores the position (R24). The origin then
    /// repeats known items too often, or it repeats page one in place of a page that the exact total counts.
    /// - Parameter place: the number of items that the walk has received.
    func ignoresPositions(behind place: Int, _ total: ListTotal) -> Bool {
        if hidden.walk.repeatsForEver { return true }
        guard hidden.walk.repeatsLastPage, let total = total.exactCount else { return false }
        return place == pageOne.count && total - place >= hidden.walk.span
    }
}
