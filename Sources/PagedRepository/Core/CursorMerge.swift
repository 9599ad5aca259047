import PageModel

/// Applies one answer to a list that is correct up to the answer's first position (R21, R22, R23). Used for each page
/// of a chain and for each answer of a sweep.
///
/// The answer's items take their positions. Cached items there that the answer lacks are removed. Items of the answer
/// that the cached list holds at later positions move here. If no item of the answer is known, all of them are new, and
/// the cached items move to later positions.
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
    /// Whether the cached list continues directly after the answer.
    let hasMet: Bool
    /// Whether all items of the answer are new, and their positions were not held. The answer is then a page of its
    /// own, and moves no other item.
    let isAddition: Bool
    /// The position of the first known item of the answer, if the merge removes held items between the given position
    /// and that item. `nil` otherwise. Held items between two known items of the answer do not count: one answer proves
    /// that they are gone.
    let passedTo: Int?

    /// - Parameters:
    ///   - position: the planned position of the answer's first item.
    ///   - segments: the held segments, at least from `position` on.
    ///   - replacedTo: the end of the cached items that an answer without known items replaces. `nil` means that it
    ///     replaces none. Defaults to nil.
    ///   - keepsHole: whether a gap has an unknown length, as in a chain. The gap then stays open until an answer meets
    ///     the items after it.
    init(
        _ observed: ObservedPage, at position: Int, segments: [Range<Int>], replacedTo: Int? = nil, keepsHole: Bool
    ) {
        let count = observed.content.count
        let known = observed.places.enumerated().compactMap { index, place in
            place.map { Alignment.Anchor(cached: $0.position, origin: position + index) }
        }
        let ahead = known.filter { $0.cached >= position }
        let again = Set(known.map(\.cached)).filter { $0 < position }.sorted()
        let anchors = CursorMerge.near(Alignment(ahead), from: position, count: count, segments: segments)
        self.position = position - again.count
        let passed = position..<max(position, anchors.first?.cached ?? position)
        let removed = segments.reduce(0) { $0 + $1.clamped(to: passed).count }
        passedTo = removed > Set(ahead.map(\.cached)).count { passed.contains($0) } ? passed.upperBound : nil
        if anchors.count == count, anchors.last?.cached == position + count - 1,
            (0..<count).allSatisfy({ observed.isHeldAsSent($0) })
        {
            step = .same
            (hasMet, isAddition) = (true, false)
            return
        }
        // The list after the answer is the same as before (R18).
        if observed.offset == position, observed.isReordered, let ordered = observed.ordering(held: count) {
            step = .changed(ordered)
            (hasMet, isAddition) = (true, false)
            return
        }
        // Only an item shows where the cached list continues. A cursor may name a position, so an equal cursor does not
        // prove that the same item follows.
        let last = anchors.last
        hasMet = last != nil && observed.places.last??.position == last?.cached
        // The answer's items after the last anchor fill the positions that are not held.
        let behind = last.map { $0.cached + 1 } ?? max(position, replacedTo ?? position)
        let filling = last.map { position + count - 1 - $0.origin } ?? count - again.count
        let next = segments.first { $0.upperBound > behind }.map { max($0.lowerBound, behind) }
        let free = next.map { $0 - behind } ?? .max
        // The position where the cached list continues after the answer.
        let rest = behind + min(free, filling)
        // No evidence shows that the held items follow (G2).
        let hole = keepsHole && !hasMet && next != nil && free <= filling ? 1 : 0
        isAddition = known.isEmpty && behind == position && free >= count && hole == 0
        let leaving = again + Set(ahead.map(\.cached)).filter { $0 >= rest }.sorted()
        var pieces: [Rearrangement.Piece] = []
        CursorMerge.keep(0..<position, except: leaving, in: &pieces)
        let write = observed.write(0..<count, at: self.position, evidence: .inferred)
        pieces.append(.written(write, from: observed.places.map { $0?.position }))
        if hole > 0 { pieces.append(.gap(hole)) }
        CursorMerge.keep(rest..<Int.max, except: leaving, in: &pieces)
        step = .changed(Rearrangement(pieces))
    }

    /// Keeps the items in the range, except those that have left it.
    private static func keep(_ range: Range<Int>, except leaving: [Int], in pieces: inout [Rearrangement.Piece]) {
        var start = range.lowerBound
        for position in leaving where range.contains(position) {
            if position > start { pieces.append(.kept(start..<position)) }
            start = position + 1
        }
        if start < range.upperBound { pieces.append(.kept(start..<range.upperBound)) }
    }

    /// Returns the anchors without those that have moved here from later positions. The items that they passed were not
    /// removed. Without more evidence, no item is dropped that may still exist (R20).
    ///
    /// Fewer items move than stay. So held items before an anchor count as removed if they are fewer than the anchors
    /// of the answer from there on. If most items of the answer are anchors, more items before the first anchor count
    /// as removed: up to twice as many as the answer has. In any other case the next answer decides.
    private static func near(
        _ alignment: Alignment, from position: Int, count: Int, segments: [Range<Int>]
    ) -> [Alignment.Anchor] {
        var near: [Alignment.Anchor] = []
        var before = position
        for (index, anchor) in alignment.anchors.enumerated() {
            let between = before..<max(before, anchor.cached)
            let moved = alignment.moved.count { between.contains($0) }
            let passed = segments.reduce(-moved) { $0 + $1.clamped(to: between).count }
            let following = alignment.anchors.count - index
            let beginsAnswer = near.isEmpty && following > 1 && 2 * following > count
            guard passed < following || beginsAnswer && passed <= 2 * count else { break }
            near.append(anchor)
            before = anchor.cached + 1
        }
        return near
    }
}

extension ObservedPage {
    /// Returns the end of the held items that this answer replaces, if its items have no ids. An item without an id
    /// that was edited looks like another item. The answer replaces all items before the held page that was fetched
    /// with the answer's next cursor. Without such a page, it replaces the held page that was fetched with its own
    /// cursor. A hole then stays open after the answer, because a cursor may name a position. Returns nil if the items
    /// have ids, or no held page has such a cursor.
    /// - Parameter cursor: the cursor that the answer was requested with. `nil` means page one.
    func replacedEnd(
        of cursor: PageCursor?, _ next: PageCursor?, at offset: Int, in list: ListOutline
    ) -> Int? {
        guard content.ids.allSatisfy({ $0 == nil }) else { return nil }
        let pages = list.heldPages.filter { $0.offset >= offset }
        if let next, let following = pages.first(where: { $0.cursorIn == next }) { return following.offset }
        let own = pages.first { cursor == nil ? $0.offset == 0 : $0.cursorIn == cursor }
        return own?.range.upperBound
    }
}
