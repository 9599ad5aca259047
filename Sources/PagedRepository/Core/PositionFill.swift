import PageModel

/// The knowledge of one pass from its requests by position.
struct PositionFill: Equatable {
    /// A request behind a supposed end.
    struct Look: Equatable {
        /// The end of the list if the answer is empty. `nil` if the total decides.
        var end: Int?
    }

    /// The position from which an origin returned no items in two answers, although its total is larger. Positions from
    /// there on are not requested (R44).
    private(set) var emptyFrom: Int?
    /// Positions that the origin permanently refused to return.
    private(set) var refused: Set<Int> = []
    /// The requests behind a supposed end, by position.
    var looks: [Int: Look] = [:]
    /// Those that were planned, and have not been sent yet.
    private var plannedLooks: [FetchTarget] = []
    /// Whether positions behind the supposed end were requested to see whether the origin hides items.
    var hasLookedBehind = false
    /// Positions that were requested, and whose answers contained only held items.
    private var withoutNewItems: Set<Int> = []
    /// Answers behind the end of the list that had only held items: the keys of their items, by position.
    private var repeated: [Int: [UInt64]] = [:]
    /// Held positions that are requested again on purpose.
    var askedAgain: Set<Int> = []
    /// Ends of the held items at which another position was requested instead.
    private var realigned: Set<Int> = []
    /// Positions that the total counts, and that were answered with 404. With two of them, no position behind the first
    /// is requested.
    private var notFound: Set<Int> = []
    /// Positions whose answer once contained fewer items than are held or counted.
    private var unconfirmed: Set<Int> = []

    /// Whether a position may be requested.
    /// - Parameter suspected: the position at which the last pass found no items.
    func admits(_ place: Int, suspected: Int?) -> Bool {
        !withoutNewItems.contains(place) && isBeforeEmpty(place) && place <= suspected ?? .max
            && place < firstMissing ?? .max
    }

    /// Whether a position is before those that returned no items.
    func isBeforeEmpty(_ place: Int) -> Bool { place < emptyFrom ?? .max }

    mutating func observe(emptyFrom place: Int) { emptyFrom = min(place, emptyFrom ?? .max) }

    mutating func observe(withoutNewItems place: Int) { withoutNewItems.insert(place) }

    mutating func observe(refusalOf place: Int) { refused.insert(place) }

    mutating func observe(notFound place: Int) { notFound.insert(place) }

    /// Plans a request behind a supposed end.
    mutating func look(at range: Range<Int>, _ look: Look) {
        looks[range.lowerBound] = look
        plannedLooks.append(.range(range, overlap: 0))
    }

    /// Returns the requests that were planned since the last call.
    mutating func takeLooks() -> [FetchTarget] {
        defer { plannedLooks = [] }
        return plannedLooks
    }

    /// The first of several positions that were answered with 404. A single page that is not found is a failure of its
    /// own, and the pages behind it are fetched.
    var firstMissing: Int? { notFound.count > 1 ? notFound.min() : nil }

    /// Records an answer that proves nothing alone (R20). Returns whether the same position gave one before.
    mutating func confirms(_ place: Int) -> Bool { !unconfirmed.insert(place).inserted }

    /// Records an answer behind the end of the list that has only held items. Returns whether another position had the
    /// same answer.
    mutating func isAlike(_ keys: [UInt64], at place: Int) -> Bool {
        repeated[place] = keys
        return repeated.contains { $0.key != place && $0.value == keys }
    }

    /// Records that another position is requested instead of this one. Returns false if that was done before.
    mutating func realigns(_ place: Int) -> Bool { realigned.insert(place).inserted }
}
