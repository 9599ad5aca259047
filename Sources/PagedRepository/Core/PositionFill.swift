import PageModel

/// The facts that the requests by position have shown in one pass.
struct PositionFill: Equatable {
    /// A request for positions after a supposed end.
    struct Look: Equatable {
        /// The end of the list if the answer is empty. `nil` if the total decides.
        var end: Int?
    }

    /// The position from which the origin returned no items in two answers, although its total is larger. This position
    /// and later ones are not requested (R44).
    private(set) var emptyFrom: Int?
    /// Positions that the origin has permanently refused to return.
    private(set) var refused: Set<Int> = []
    /// The requests for positions after a supposed end, by position.
    var looks: [Int: Look] = [:]
    /// The planned requests of this kind that have not been sent yet.
    private var plannedLooks: [FetchTarget] = []
    /// Whether positions after the supposed end were requested to see whether the origin hides items.
    var hasLookedBehind = false
    /// Positions that were requested, and whose answers contained only held items.
    private var withoutNewItems: Set<Int> = []
    /// Answers after the end of the list that had only held items: the keys of their items, by position.
    private var repeated: [Int: [UInt64]] = [:]
    /// Held positions that are requested again on purpose.
    var askedAgain: Set<Int> = []
    /// Positions for which another position was requested instead.
    private var realigned: Set<Int> = []
    /// Positions that the total counts, and that were answered with 404. If there are two or more, no position from the
    /// first one on is requested.
    private var notFound: Set<Int> = []
    /// Positions that have returned an answer which proves nothing alone.
    private var unconfirmed: Set<Int> = []

    /// Whether a position may be requested.
    /// - Parameter suspected: the position at which the last pass found no items.
    func admits(_ place: Int, suspected: Int?) -> Bool {
        !withoutNewItems.contains(place) && isBeforeEmpty(place) && place <= suspected ?? .max
            && place < firstMissing ?? .max
    }

    /// Whether a position is before all those that returned no items.
    func isBeforeEmpty(_ place: Int) -> Bool { place < emptyFrom ?? .max }

    mutating func observe(emptyFrom place: Int) { emptyFrom = min(place, emptyFrom ?? .max) }

    mutating func observe(withoutNewItems place: Int) { withoutNewItems.insert(place) }

    mutating func observe(refusalOf place: Int) { refused.insert(place) }

    mutating func observe(notFound place: Int) { notFound.insert(place) }

    /// Plans a request for positions after a supposed end.
    mutating func look(at range: Range<Int>, _ look: Look) {
        looks[range.lowerBound] = look
        plannedLooks.append(.range(range, overlap: 0))
    }

    /// Returns the requests that were planned since the last call.
    mutating func takeLooks() -> [FetchTarget] {
        defer { plannedLooks = [] }
        return plannedLooks
    }

    /// The first position that was answered with 404, if there are several. A single 404 is a failure of that page
    /// only, and the pages after it are fetched.
    var firstMissing: Int? { notFound.count > 1 ? notFound.min() : nil }

    /// Records an answer that proves nothing alone (R20). Returns whether the same position has returned such an answer
    /// before.
    mutating func confirms(_ place: Int) -> Bool { !unconfirmed.insert(place).inserted }

    /// Records an answer after the end of the list that has only held items. Returns whether another position returned
    /// the same items.
    mutating func isAlike(_ keys: [UInt64], at place: Int) -> Bool {
        repeated[place] = keys
        return repeated.contains { $0.key != place && $0.value == keys }
    }

    /// Records that another position is requested instead of this one. Returns false if this was done before.
    mutating func realigns(_ place: Int) -> Bool { realigned.insert(place).inserted }
}
