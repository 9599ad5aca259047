import PageModel

/// Finds the seen items that have the same order in the cached list. These are the anchors, and changes lie between
/// them. All other seen items have moved.
struct Alignment: Equatable {
    struct Anchor: Equatable {
        /// The position in the cached list.
        var cached: Int
        /// The position at the origin.
        var origin: Int

        /// The number of positions by which the item moved. Negative if it moved towards the beginning.
        var shift: Int { origin - cached }
    }

    /// The anchors, ascending by both positions.
    let anchors: [Anchor]
    /// The cached positions of items that were seen in another order, ascending.
    let moved: [Int]

    /// - Parameter places: seen items that the cached list holds, ascending by their position at the origin.
    init(_ places: [Anchor]) {
        anchors = Alignment.longestAscent(places)
        let anchored = Set(anchors.map(\.cached))
        moved = Set(places.map(\.cached)).subtracting(anchored).sorted()
    }

    /// Returns the longest strictly ascending subsequence by cached position (patience sorting). The choice of the
    /// longest one assumes that fewer items moved than stayed.
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
