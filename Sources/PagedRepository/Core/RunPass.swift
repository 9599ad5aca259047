import PageModel

/// The state of a run from one request for page one to the next.
struct RunPass: Equatable {
    /// Whether the list moved during the run. The planned requests are then void, and page one is requested again.
    var mustRestart = false
    /// Whether this pass began a new generation. Items that arrive again then do not count as progress.
    var hasReplaced = false
    /// Whether totals of this pass count items that were inserted after page one was received.
    var isOutgrown = false
    /// The number of new items in this pass.
    var newItems = 0
    /// Whether page one of a chain arrived without any held item.
    var isHeadNew = false
    /// Whether an answer of this pass had a held item.
    var hasKnownItems = false
    /// The requests by position.
    var fill = PositionFill()
    /// The walk through a chain.
    var walk = ChainWalk()
    /// The check of an end that no total proves.
    var check = EndCheck()
    /// The claims about the end that an unchanged page one has to confirm.
    var witness = EndWitness()

    /// Begins the next pass. If the previous pass planned a walk to the end, the next pass makes it.
    mutating func begin() {
        let mode = walk.mode
        self = RunPass()
        if mode == .whole { walk.mode = mode }
    }

    /// Restarts the pass with a walk from page one to the end, through held items.
    mutating func walkAgain() {
        walk.mode = .whole
        mustRestart = true
    }
}

/// The check of the end of a list, where no total shows whether the list has grown (R24). Until the check is over, the
/// list keeps its end. No item is removed, and no end is announced twice (R14, R38).
struct EndCheck: Equatable {
    var isDue = false
    /// The end that is checked. `nil` if no check was due when the requests were planned, or if no end was known.
    private(set) var oldEnd: Int?
    /// Whether the last page was requested again in this pass.
    var hasReadLastPage = false
    /// The number of items that the last page of a chain repeats from the page before it. 0 unless the cursors of the
    /// chain are inclusive.
    private(set) var itemsAgain = 0

    /// Begins a plan. Returns the list for it: without its end, if the end has to be checked.
    mutating func begin(_ list: ListOutline) -> ListOutline {
        oldEnd = isDue ? list.record.end : nil
        return opened(list)
    }

    /// Begins the check of the last page of a chain. An inclusive cursor returns the last items of the page before
    /// again. All held pages between page one and the last page then have the same number of items, and fewer than page
    /// one.
    /// - Parameters:
    ///   - list: the list.
    ///   - pageOne: the number of items of page one.
    mutating func readsLastPage(of list: ListOutline, pageOne: Int) {
        hasReadLastPage = true
        let counts = Set(list.heldPages.dropFirst().dropLast().map(\.count))
        itemsAgain = counts.count == 1 && list.heldPages.count > 3 ? max(0, pageOne - (counts.first ?? pageOne)) : 0
    }

    /// Returns the list without its end, if the end has to be checked.
    func opened(_ list: ListOutline) -> ListOutline {
        guard isDue else { return list }
        var list = list
        list.record.end = nil
        return list
    }
}

/// Claims about the end of a list that would remove held items. A claim is believed after page one has arrived
/// unchanged, and the position has repeated the claim (R20).
struct EndWitness: Equatable {
    private struct Claim: Hashable {
        var place: Int
        var end: Int
    }

    private var claims: Set<Claim> = []
    /// The fetch to repeat after page one has arrived unchanged. `nil` if there is none.
    private(set) var awaited: FetchTarget?

    /// Whether page one is requested as a witness.
    var isAwaited: Bool { awaited != nil }

    /// Records a claim that page one has to confirm. Returns false if page one is already requested for another claim.
    mutating func ask(for target: FetchTarget, end: Int) -> Bool {
        guard awaited == nil else { return false }
        claims.insert(Claim(place: target.offset, end: end))
        awaited = target
        return true
    }

    /// Whether the same claim was recorded for this position before, and page one has been answered since.
    func confirms(_ place: Int, end: Int) -> Bool { claims.contains(Claim(place: place, end: end)) && awaited == nil }

    /// Returns the fetch to repeat after page one was answered, and ends the wait. Returns nil if no fetch waits.
    mutating func take() -> FetchTarget? {
        defer { awaited = nil }
        return awaited
    }
}
