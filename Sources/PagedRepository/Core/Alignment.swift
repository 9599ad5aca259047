import PageModel

/// Which seen items stand in the same order as in the cached list: the anchors between which changes are looked for.
/// Those that do not have moved.
struct Alignment: Equatable {
    struct Anchor: Equatable {
        /// Position in the cached list.
        var cached: Int
        /// Position at the origin.
        var origin: Int

        /// How far the item moved.
        var shift: Int { origin - cached }
    }

    /// Ascending in both.
    let anchors: [Anchor]
    /// Cached positions of items that were seen elsewhere, ascending.
    let moved: [Int]

    /// - Parameter places: seen items that the cached list holds, by their position at the origin, ascending.
    init(_ places: [Anchor]) {
        anchors = Alignment.longestAscent(places)
        let anchored = Set(anchors.map(\.cached))
        moved = Set(places.map(\.cached)).subtracting(anchored).sorted()
    }

    /// The longest strictly ascending subsequence by cached position (patience sorting): what moved is rarer than what
    /// stayed.
    private static func longestAscent(_ places: [Anchor]) -> [Anchor] {
        var tails: [Int] = []  // index of the smallest last element of an ascent of each length
        var previous = [Int?](repeating: nil, count: places.count)
        for (index, place) in places.enumerated() {
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if places[tails[middle]].cached < place.cached { low = middle + 1 } else { high = middle }
            }
            previous[index] = low > 0 ? tails[low - 1] : nil
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var ascent: [Anchor] = []
        var index = tails.last
        while let current = index {
            ascent.append(places[current])
            index = previous[current]
        }
        return ascent.reversed()
    }
}
