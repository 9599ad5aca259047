import PageModel

/// Whether the origin leaves items out of its pages, for example because the caller may not see them (R53), and the
/// answers that suggest it.
struct HiddenBelief: Equatable {
    /// An answer that had fewer items than a page.
    private struct ShortAnswer: Equatable {
        /// The keys of its items. Other members can differ with each answer.
        var keys: [UInt64]
        /// The number of such answers at this position.
        var count = 1
    }

    /// The number of short answers at one position that prove hidden items, although each has other items.
    private static let mostShortAnswers = 4

    /// Whether the origin hides items, so that the pages are requested one after the other.
    var isHiding = false
    /// The requests one after the other.
    var walk = PositionWalk()
    /// The positions of answers that had fewer items than a page, although the list continues behind them.
    private var shortPlaces: Set<Int> = []
    /// The last short answer at a position, so that the same answer again is recognised.
    private var shortAnswers: [Int: ShortAnswer] = [:]
    /// The requests of short answers behind which nothing had arrived yet, by the position behind the answer.
    private var undecided: [Int: FetchTarget] = [:]
    /// How often answers did not fit the held items, while page one did not change.
    private(set) var misplaced = 0

    /// Restores from the stored page one whether the origin hides items.
    mutating func restore(_ pages: [PageSummary]) {
        isHiding = pages.contains { $0.offset == 0 && PositionCursor($0.cursorOut) != nil }
    }

    /// Starts the count again because page one has changed, which explains misplaced items.
    mutating func forgetMisplaced() { misplaced = 0 }

    /// Records an answer to a request for a whole page that is shorter than a page, although the list continues behind
    /// it or may do so.
    /// - Parameter target: the request, if it is not known yet whether the list continues. `nil` otherwise.
    mutating func observe(short page: FetchedPage, at start: Int, undecided target: FetchTarget?) {
        shortPlaces.insert(start)
        guard let target, shortAnswers[start] == nil else { return }
        shortAnswers[start] = ShortAnswer(keys: page.content.identities.map(\.key))
        undecided[start + page.content.count] = target
    }

    /// Records an answer that is short in the middle of the list. The first one may be a fault.
    /// - Returns: whether the same answer arrived before, or several others. The origin then hides items.
    mutating func isRepeated(short identities: [ItemIdentity], at start: Int) -> Bool {
        let now = ShortAnswer(keys: identities.map(\.key), count: (shortAnswers[start]?.count ?? 0) + 1)
        let last = shortAnswers.updateValue(now, forKey: start)
        return last?.keys == now.keys || now.count >= HiddenBelief.mostShortAnswers
    }

    /// Returns the request for an answer that was short, once items behind it have arrived. The same answer again shows
    /// that the origin hides items.
    mutating func shortAgain(furthest: Int) -> [FetchTarget] {
        guard let (after, target) = undecided.min(by: { $0.key < $1.key }), furthest > after else { return [] }
        undecided = [:]
        return [target]
    }

    /// Whether the answers differ in length in the middle of the list. One short answer may be a fault.
    func isIrregular(_ sizes: PageSizes, _ access: PagingAccess) -> Bool {
        sizes.longest > sizes.full(access) ?? .max || shortPlaces.count > 1
    }

    /// Counts an answer whose items arrive at later positions than they are stored, while page one did not change.
    ///
    /// Hidden items move all items of an answer by the same distance. A list that repeats single ids (R25) does not.
    /// - Parameter shifts: how far behind its stored place each known item of the answer arrived.
    /// - Returns: whether there were enough such answers to show that the origin's positions count hidden items, too:
    ///   three, or two if the lengths of pages are irregular.
    mutating func observe(shifts: [Int], isIrregular: Bool) -> Bool {
        guard let first = shifts.first, shifts.allSatisfy({ $0 > 0 }),
            isIrregular || shifts.count > 1 && shifts.allSatisfy({ $0 == first })
        else { return false }
        misplaced += 1
        return misplaced >= (isIrregular ? 2 : 3)
    }
}

extension ListBelief {
    /// How the pages of this list are requested.
    func access(_ source: PagingAccess) -> PagingAccess {
        hidden.isHiding && source.supportsRandomAccess ? .chain : placing(source)
    }

    /// Whether an answer is shorter than a page although the list continues behind it: the origin says so, or has
    /// returned items behind it in this run. Items that are held behind it count if the origin counts them, too.
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the requested position.
    ///   - known: the end of the items that were known when the answer was requested. One of them may have been removed
    ///     since, so they do not prove items behind the answer. Defaults to 0.
    ///   - source: the way in which pages can be requested from the origin.
    func isShort(_ page: FetchedPage, at start: Int, known: Int = 0, _ source: PagingAccess) -> Bool {
        guard access(source).supportsRandomAccess, let whole = sizes.whole(source), page.content.count < whole else {
            return false
        }
        let after = start + page.content.count
        // A page behind which nothing is counted is the last one, whatever its links say.
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
        // Whether the list continues behind it is not known before the answers of the same batch have arrived.
        var isUndecided = false
        if case .range = target {
            isUndecided = access(source).supportsRandomAccess && !isShort(page, at: target.offset, source)
        }
        hidden.observe(short: page, at: target.offset, undecided: isUndecided ? target : nil)
    }

    /// Counts an answer whose items arrive at later positions than they are stored; see
    /// `HiddenBelief.observe(shifts:)`.
    mutating func isShiftedAgain(_ shifts: [Int], _ source: PagingAccess) -> Bool {
        access(source).supportsRandomAccess
            && hidden.observe(shifts: shifts, isIrregular: hidden.isIrregular(sizes, source))
    }
}

extension ListBelief {
    /// Whether the answers of a walk by position show that the origin ignores the position (R24). It repeats known items
    /// too often, or it repeats page one in place of a page that the exact total counts.
    /// - Parameter place: the number of items that the walk has received.
    func ignoresPositions(behind place: Int, _ total: ListTotal) -> Bool {
        if hidden.walk.repeatsForEver { return true }
        guard hidden.walk.repeatsLastPage, let total = total.exactCount else { return false }
        return place == pageOne.count && total - place >= hidden.walk.span
    }
}
