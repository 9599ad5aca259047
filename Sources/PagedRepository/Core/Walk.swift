import PageModel

/// Lays one answer into a list that is right up to the answer's first position (R21, R22, R23): what a chain does with
/// each page, and a sweep with each answer.
///
/// What the answer holds takes its place; what the cached list has there and the answer does not is gone; what the
/// cached list has further back and the answer has, too, moves here. Where nothing of the answer is known, it is new,
/// and pushes back what is there.
struct Walk: Equatable {
    enum Step: Equatable {
        /// The list holds exactly this here.
        case same
        case changed(Rearrangement)
    }

    let step: Step
    /// Where the answer comes to lie: before `position` by as many items as had been laid out before it and have come
    /// again.
    let position: Int
    /// The answer's last item stands where the cached list has it: what lies behind it there is taken to follow.
    let hasMet: Bool

    /// - Parameters:
    ///   - position: where the answer's first item would lie.
    ///   - runs: what is held, from there on at least.
    ///   - following: where a held page begins that the origin named as the answer's next.
    ///   - keepsHole: whether nobody knows how many positions a gap has (chains): it stays open until the answer meets
    ///     what is behind.
    init(_ sighting: Sighting, at position: Int, runs: [Range<Int>], following: Int? = nil, keepsHole: Bool) {
        let count = sighting.content.count
        let known = sighting.places.enumerated().compactMap { index, place in
            place.map { Alignment.Anchor(cached: $0.position, origin: position + index) }
        }
        let ahead = known.filter { $0.cached >= position }
        let again = Set(known.map(\.cached)).filter { $0 < position }.sorted()
        let anchors = Walk.near(Alignment(ahead).anchors, from: position, count: count, runs: runs)
        self.position = position - again.count
        if anchors.count == count, anchors.last?.cached == position + count - 1,
            (0..<count).allSatisfy({ sighting.isHeldAsSent($0) })
        {
            step = .same
            hasMet = true
            return
        }
        // Where the cached list goes on behind the answer.
        var rest: Int
        var hole = 0
        if let last = anchors.last {
            rest = last.cached + 1
            hasMet = sighting.places.last??.position == last.cached
        } else if let following, following >= position {
            rest = following
            hasMet = true
        } else {
            // Positions that are not held are what the answer fills.
            let next = runs.first { $0.upperBound > position }.map { max($0.lowerBound, position) }
            let free = next.map { $0 - position } ?? .max
            rest = position + min(free, count)
            // G2: nothing says that what is held follows.
            if keepsHole, next != nil, free <= count { hole = 1 }
            hasMet = false
        }
        let leaving = again + Set(ahead.map(\.cached)).filter { $0 >= rest }.sorted()
        var pieces: [Rearrangement.Piece] = []
        Walk.keep(0..<position, except: leaving, in: &pieces)
        let write = sighting.write(0..<count, at: self.position, evidence: .inferred)
        pieces.append(.written(write, from: sighting.places.map { $0?.position }))
        if hole > 0 { pieces.append(.gap(hole)) }
        Walk.keep(rest..<Int.max, except: leaving, in: &pieces)
        step = .changed(Rearrangement(pieces))
    }

    /// Keeps the range without items that have left it.
    private static func keep(_ range: Range<Int>, except leaving: [Int], in pieces: inout [Rearrangement.Piece]) {
        var start = range.lowerBound
        for position in leaving where range.contains(position) {
            if position > start { pieces.append(.kept(start..<position)) }
            start = position + 1
        }
        if start < range.upperBound { pieces.append(.kept(start..<range.upperBound)) }
    }

    /// An item that lies far behind the others has come from there, rather than everything between being gone: without
    /// more evidence nothing is thrown away that may well be there (R20).
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
