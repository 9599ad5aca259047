import PageModel

/// The state of a run from one request of page one to the next.
struct RunPass: Equatable {
    /// Whether the list moved during the run. The plan is then void, and page one is requested again.
    var mustRestart = false
    /// Whether this pass began a new generation. Items that arrive again are then no progress.
    var hasReplaced = false
    /// Whether totals of this pass count items that were inserted after page one was received.
    var isOutgrown = false
    /// The number of new items in this pass.
    var newItems = 0
    /// Whether page one of a chain had no item that was held.
    var isHeadNew = false
    /// Whether an answer of this pass had an item that was held.
    var hasKnownItems = false
    /// The requests by position.
    var fill = PositionFill()
    /// The walk through a chain.
    var walk = ChainWalk()
    /// The check of an end that no total proves.
    var check = EndCheck()
    /// The claims about the end that page one has to confirm.
    var witness = EndWitness()

    /// Begins the pass after another. This pass makes the walk to the end that the previous pass planned.
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
    /// The end that is checked. `nil` if no end was known before this pass.
    private(set) var oldEnd: Int?
    /// Whether the last page was requested again in this pass.
    var hasReadLastPage = false
    /// The number of items before the last page that the inclusive cursors of the list return again.
    private(set) var itemsAgain = 0

    /// Returns the list for a plan: without its end, if that has to be checked.
    mutating func begin(_ list: ListOutline) -> ListOutline {
        oldEnd = isDue ? list.record.end : nil
        return opened(list)
    }

    /// Begins the check of the last page of a chain. Inclusive cursors return the last items of the page before again:
    /// all pages behind page one hold as many items fewer.
    /// - Parameter pageOne: the number of items of page one.
    mutating func readsLastPage(of list: ListOutline, pageOne: Int) {
        hasReadLastPage = true
        let counts = Set(list.heldPages.dropFirst().dropLast().map(\.count))
        itemsAgain = counts.count == 1 && list.heldPages.count > 3 ? max(0, pageOne - (counts.first ?? pageOne)) : 0
    }

    /// Returns the list without its end, if that has to be checked.
    func opened(_ list: ListOutline) -> ListOutline {
        guard isDue else { return list }
        var list = list
        list.record.end = nil
        return list
    }
}

/// Claims about the end of a list that remove held items. A claim is believed after page one has arrived unchanged, and
/// the position has repeated the claim (R20).
struct EndWitness: Equatable {
    private struct Claim: Hashable {
        var place: Int
        var end: Int
    }

    private var claims: Set<Claim> = []
    /// The fetch to repeat after page one has arrived unchanged.
    private(set) var awaited: FetchTarget?

    /// Whether page one is requested as a witness.
    var isAwaited: Bool { awaited != nil }

    /// Records a claim that page one has to confirm. Returns false if page one is already in flight for another claim.
    mutating func ask(for target: FetchTarget, end: Int) -> Bool {
        guard awaited == nil else { return false }
        claims.insert(Claim(place: target.offset, end: end))
        awaited = target
        return true
    }

    /// Whether this position was requested before with the same result, and page one has been answered since.
    func confirms(_ place: Int, end: Int) -> Bool { claims.contains(Claim(place: place, end: end)) && awaited == nil }

    /// Returns the fetch to repeat after page one was answered, and ends the wait. Returns nil if there is none.
    mutating func take() -> FetchTarget? {
        defer { awaited = nil }
        return awaited
    }
}
