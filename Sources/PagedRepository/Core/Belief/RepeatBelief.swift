import PageModel

/// Items that arrived at several positions of a list, and answers without new items (R24, R25).
struct RepeatBelief: Equatable {
    /// An item that arrived at one position while it is stored at another.
    private struct Place: Hashable {
        var key: UInt64
        var places: Set<Int>
    }

    /// How often an item arrived at one position while it is stored at another.
    struct Arrivals: Equatable {
        var count = 0
        /// The hash of the item that arrived last.
        var content: UInt64 = 0
        /// The number of consecutive arrivals, up to the last one, with the hash `content`.
        var alike = 0
    }

    /// The number of consecutive answers without a new item that prove that the origin ignores positions (R24).
    private static let sameAnswers = 3

    /// The number of consecutive pages without new items.
    private(set) var pagesWithoutNewItems = 0
    /// The number of consecutive pages by position that repeat received items, in a list with repeated ids.
    private(set) var repetitions = 0
    private var collisions: [Place: Arrivals] = [:]

    /// Restores the number of consecutive repetitions that earlier runs have counted.
    mutating func restore(repetitions: Int) { self.repetitions = repetitions }

    /// Begins another walk or load.
    mutating func restart() { pagesWithoutNewItems = 0 }

    /// Records whether a page had new items.
    mutating func observe(hasNewItems: Bool) { pagesWithoutNewItems = hasNewItems ? 0 : pagesWithoutNewItems + 1 }

    /// Whether enough consecutive answers had no new item to prove that the origin ignores positions.
    var provesPositionsIgnored: Bool { pagesWithoutNewItems >= RepeatBelief.sameAnswers }

    /// The message of the failure of a list that returns no more new items.
    var message: String {
        pagesWithoutNewItems == 1
            ? "a page had no new items" : "\(pagesWithoutNewItems) consecutive pages had no new items"
    }

    /// Records a page by position in a list with repeated ids. The page counts as a repetition if at least nine in ten
    /// of its items are known.
    mutating func observe(known: Int, of count: Int) {
        repetitions = known * 10 >= count * 9 ? repetitions + 1 : 0
    }

    /// Counts how often these items arrived at one position while they are stored at another.
    /// - Returns: the highest counts among these items.
    mutating func observe(
        _ identities: [ItemIdentity], at start: Int, _ places: [UInt64: ItemPlace]
    ) -> Arrivals {
        var most = Arrivals()
        var received: [UInt64: Int] = [:]
        for (index, identity) in identities.enumerated() {
            let earlier = received.updateValue(start + index, forKey: identity.key)
            guard let place = places[identity.key]?.position ?? earlier, place != start + index else { continue }
            let collision = Place(key: identity.key, places: [place, start + index])
            var known = collisions[collision] ?? Arrivals()
            known.count += 1
            known.alike = known.content == identity.content ? known.alike + 1 : 1
            known.content = identity.content
            collisions[collision] = known
            most.count = max(most.count, known.count)
            most.alike = max(most.alike, known.alike)
        }
        return most
    }
}
