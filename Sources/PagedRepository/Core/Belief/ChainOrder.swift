import PageModel

/// The conclusions from the walks of one run through a chain (R22, R24, R25). They say whether the pages are parts of
/// one list, and how often a walk has to be repeated before its end counts.
struct ChainOrder: Equatable {
    /// A walk from page one to the end of a chain, whose answers did not contradict each other.
    struct WholeWalk: Equatable {
        /// The end of the chain.
        var end: Int
        /// The total of page one. `nil` means unknown.
        var total: Int?
    }

    /// The number of walks in disorder in one run that prove that the list has no order. In such a walk, items arrive
    /// again at places where no insert can have moved them.
    private static let mostDisorderedWalks = 3
    /// The maximum number of walks that are repeated because page one lost an item, or the total became smaller,
    /// meanwhile.
    private static let mostWalksAgain = 2

    /// The items that the last walk received again at the head of answers.
    private(set) var lastPushes = ChainWalk.Pushes()
    /// The repeats of the last walk (R25).
    private(set) var lastRepeats: Set<ChainWalk.Repeat> = []
    /// The last walk, if it was whole and page one has not changed since. `nil` otherwise.
    private(set) var wholeWalk: WholeWalk?
    /// The keys of the items that page one had before the walk that has just ended. Empty when the walk needs no
    /// confirmation.
    private var walkedFrom: [UInt64] = []
    /// The number of walks that were repeated because page one had lost an item meanwhile.
    private var walksAgain = 0
    /// Whether the list was walked again in this run because a single walk does not explain the items at the head of
    /// answers.
    private var walksForPushes = false
    /// Whether this run has requested the second walk, which confirms that the chain has more items than its total
    /// counts.
    private var hasConfirmedExcess = false
    /// The number of walks of this run in which the total became smaller.
    private var shrunkWalks = 0
    /// The number of walks to the end of the chain in which items arrived again in disorder.
    private var disorderedWalks = 0

    // MARK: The end of a walk

    /// Records the walk of a pass that is over.
    mutating func ended(_ walk: ChainWalk) {
        lastRepeats = walk.repeats
        if !walk.pushes.counts.isEmpty { lastPushes = walk.pushes }
    }

    /// Records page one, which begins a walk.
    /// - Parameters:
    ///   - isChanged: whether page one has other items than before.
    ///   - end: the end of the list, if it ends with page one. `nil` otherwise.
    mutating func begins(isChanged: Bool, end: Int?, total: ListTotal) {
        if isChanged { wholeWalk = nil }
        if let end { wholeWalk = WholeWalk(end: end, total: total.count) }
    }

    /// Records a walk to the end of the chain.
    /// - Parameter isWhole: whether the walk began with page one, and no answer contradicted another.
    mutating func reached(end: Int, isWhole: Bool, total: ListTotal) {
        wholeWalk = isWhole ? WholeWalk(end: end, total: total.count) : nil
    }

    /// Whether the chain was walked completely to `end`, and the total of page one is the same as then.
    func isWalkedWhole(to end: Int, total: ListTotal) -> Bool { wholeWalk == WholeWalk(end: end, total: total.count) }

    /// Whether items moved during the walk. The walk may then have missed some, and does not disprove a total (R20).
    func hasMoved(_ walk: ChainWalk) -> Bool {
        walk.hasChanged || !walk.pushes.isEmpty && !walk.pushes.hasKeys(of: lastPushes)
    }

    /// Counts a walk to the end in which items arrived again in disorder. Three such walks suffice as proof. One
    /// suffices if an earlier run has left the list without a proven end.
    /// - Returns: whether the list counts as one without an order.
    mutating func disordered(hadNoProvenEnd: Bool) -> Bool {
        let most = ChainOrder.mostDisorderedWalks
        disorderedWalks = disorderedWalks == 0 && hadNoProvenEnd ? most : disorderedWalks + 1
        return disorderedWalks >= most
    }

    /// Requests the second walk, which confirms that the chain has more items than its total counts. An item that was
    /// deleted after the first walk had received it also makes the chain look longer than its total.
    /// - Returns: whether that walk is still to be made.
    mutating func confirmsExcess() -> Bool {
        defer { hasConfirmedExcess = true }
        return !hasConfirmedExcess
    }

    /// Requests another walk after one in which the total became smaller. Deletes during that walk can require a third.
    /// - Returns: whether that walk is still to be made.
    mutating func confirmsShrink() -> Bool {
        shrunkWalks += 1
        return shrunkWalks <= ChainOrder.mostWalksAgain
    }

    // MARK: Repeated ids

    /// Whether the list repeats items at the heads of answers (R25). Two walks must have received the same items there,
    /// and one more condition must be met. The items have other content than those before them, or only some answers
    /// begin with them, or the total counts them.
    func areItemsRepeated(_ walk: ChainWalk, total: Int?, end: Int) -> Bool {
        let pushes = walk.pushes
        guard !pushes.isEmpty, total != end, pushes.hasKeys(of: lastPushes) else { return false }
        return pushes.hasOthers && pushes == lastPushes || !pushes.isInclusive || total == walk.received
    }

    /// Whether this walk has so far received the same items again, at the same positions, as the last walk (R25).
    /// - Parameter count: the minimum number of items. A list without an order repeats single positions by chance.
    func hasRepeatedAlike(_ walk: ChainWalk, atLeast count: Int) -> Bool {
        walk.repeats.count >= count && walk.repeats == lastRepeats.filter { $0.received < walk.received }
    }

    /// Whether the walk that has ended and the walk before it received the same items again at the same positions.
    func hasRepeatedAlike(_ walk: ChainWalk) -> Bool { !walk.repeats.isEmpty && walk.repeats == lastRepeats }

    // MARK: Page one after a walk

    /// Whether page one is requested to confirm a walk that has just ended.
    var awaitsConfirmation: Bool { !walkedFrom.isEmpty }
    /// Whether this run may walk again because page one has lost an item. At most two walks are repeated for this
    /// reason.
    var mayConfirm: Bool { walksAgain < ChainOrder.mostWalksAgain }

    /// Requests page one to confirm a walk that began with these items. A deletion during the walk can move an item to
    /// a page that the walk has already fetched. Page one can show such a deletion.
    mutating func awaitConfirmation(of keys: [UInt64]) { walkedFrom = keys }

    mutating func endConfirmation() { walkedFrom = [] }

    /// Records page one.
    /// - Returns: whether the list must be walked again. Page one has then lost an item since the walk began, or no
    ///   insert explains the items that arrived again.
    mutating func isWalkAgainNeeded(after keys: [UInt64]) -> Bool {
        if ChainOrder.hasLostItems(from: walkedFrom, to: keys) {
            walksAgain += 1
            return true
        }
        guard walkedFrom == keys, !walksForPushes, !lastPushes.isInclusive || lastPushes.hasOthers else { return false }
        walksForPushes = true
        return true
    }

    /// Records page one, which was requested because an answer without items claims the end of the chain.
    /// - Parameters:
    ///   - before: the keys of the items of page one before the walk.
    ///   - keys: the keys of its items now.
    /// - Returns: whether the list must be walked again. If page one has lost items, later items moved up, and the walk
    ///   has passed over some of them.
    mutating func isWalkAgainNeeded(from before: [UInt64], to keys: [UInt64]) -> Bool {
        guard mayConfirm, ChainOrder.hasLostItems(from: before, to: keys) else { return false }
        walksAgain += 1
        return true
    }

    /// Whether an item disappeared from page one during the walk, other than by inserts before it. An item was then
    /// deleted or moved, and the walk may have passed over another item.
    private static func hasLostItems(from before: [UInt64], to keys: [UInt64]) -> Bool {
        guard let first = before.first else { return false }
        guard let start = keys.firstIndex(of: first) else { return true }
        return !before.starts(with: keys[start...])
    }
}
