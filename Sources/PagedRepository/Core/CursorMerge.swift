import PageModel

/// Applies one answer to a list that is correct up to the answer's first position (R21, R22, R23). Used for each page
/// of a chain and for each answer of a sweep.
///
/// The answer's items take their positions. Cached items there that the answer lacks are removed. Items of the answer
/// that the cached list has farther back move here. If none of its items is known, they are new, and push back the
/// cached ones.
struct CursorMerge: Equatable {
    enum Step: Equatable {
        /// The list holds exactly these items here.
        case same
        case changed(Rearrangement)
    }

    let step: Step
    /// The position of the answer's first item. It is smaller than the given position by the number of earlier items
    /// that the answer repeats.
    let position: Int
    /// Whether the cached list continues directly behind the answer.
    let hasMet: Bool

    /// - Parameters:
    ///   - position: the planned position of the answer's first item.
    ///   - runs: the held runs, at least from `position` on.
    ///   - following: the position of the held page that the origin named as the next one.
    ///   - keepsHole: whether a gap has an unknown length (chains). It stays open until the answer meets the items
    ///     behind it.
    init(_ sighting: ObservedPage, at position: Int, runs: [Range<Int>], following: Int? = nil, keepsHole: Bool) {
        let count = sighting.content.count
        let known = sighting.places.enumerated().compactMap { index, place in
            place.map { Alignment.Anchor(cached: $0.position, origin: position + index) }
        }
        let ahead = known.filter { $0.cached >= position }
        let again = Set(known.map(\.cached)).filter { $0 < position }.sorted()
        let anchors = CursorMerge.near(Alignment(ahead).anchors, from: position, count: count, runs: runs)
        self.position = position - again.count
        if anchors.count == count, anchors.last?.cached == position + count - 1,
            (0..<count).allSatisfy({ sighting.isHeldAsSent($0) })
        {
            step = .same
            hasMet = true
            return
        }
        // The position where the cached list continues behind the answer.
        var rest: Int
        var hole = 0
        if let last = anchors.last {
            rest = last.cached + 1
            hasMet = sighting.places.last??.position == last.cached
        } else if let following, following >= position {
            rest = following
            hasMet = true
        } else {
            // The answer fills the positions that are not held.
            let next = runs.first { $0.upperBound > position }.map { max($0.lowerBound, position) }
            let free = next.map { $0 - position } ?? .max
            rest = position + min(free, count)
            // No evidence shows that the held items follow (G2).
            if keepsHole, next != nil, free <= count { hole = 1 }
            hasMet = false
        }
        let leaving = again + Set(ahead.map(\.cached)).filter { $0 >= rest }.sorted()
        var pieces: [Rearrangement.Piece] = []
        CursorMerge.keep(0..<position, except: leaving, in: &pieces)
        let write = sighting.write(0..<count, at: self.position, evidence: .inferred)
        pieces.append(.written(write, from: sighting.places.map { $0?.position }))
        if hole > 0 { pieces.append(.gap(hole)) }
        CursorMerge.keep(rest..<Int.max, except: leaving, in: &pieces)
        step = .changed(Rearrangement(pieces))
    }

    /// Keeps the range without the items that have left it.
    private static func keep(_ range: Range<Int>, except leaving: [Int], in pieces: inout [Rearrangement.Piece]) {
        var start = range.lowerBound
        for position in leaving where range.contains(position) {
            if position > start { pieces.append(.kept(start..<position)) }
            start = position + 1
        }
        if start < range.upperBound { pieces.append(.kept(start..<range.upperBound)) }
    }

    /// An anchor far behind the others has moved from there; the items between were not removed. Without more evidence
    /// no item is dropped that may still exist (R20).
    private static func near(
        _ anchors: [Alignment.Anchor], from position: Int, count: Int, runs: [Range<Int>]
    ) -> [Alignment.Anchor] {
        var near: [Alignment.Anchor] = []
        var before = position
        for anchor in anchors {
            let between = before..<max(before, anchor.cached)
            guard runs.reduce(0, { $0 + $1.clamped(to: between).count }) <= 2 * count else { break }
            near.append(anchor)
            before = anchor.cached + 1
        }
        return near
    }
}
