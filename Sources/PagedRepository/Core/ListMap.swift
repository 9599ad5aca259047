import PageModel

/// What is known of the list at the origin by a number of answers, laid against the cached list.
struct ListMap: Equatable {
    /// An item that was seen.
    struct Seen: Equatable {
        var origin: Int
        var sighting: Int
        var index: Int
        var place: ItemPlace?
    }

    let cached: Reconciler.Cached
    /// By position at the origin, ascending, each position once.
    let seen: [Seen]
    let alignment: Alignment
    /// What lies between the anchors, before the first and behind the last.
    let stretches: [Stretch]
    /// What the origin says of the length, and whether something that was seen contradicts it.
    let total: Total
    /// Where the list ends at the origin; `nil` when that is unknown.
    let end: Int?

    /// Nil when two answers contradict each other.
    init?(_ sightings: [Sighting], cached: Reconciler.Cached, total: Total) {
        guard let seen = ListMap.seen(in: sightings) else { return nil }
        self.seen = seen
        self.cached = cached
        alignment = Alignment(
            seen.compactMap { item in
                item.place.map { Alignment.Anchor(cached: $0.position, origin: item.origin) }
            })
        let reached = seen.last.map { $0.origin + 1 } ?? 0
        // Nothing lies at or behind this position.
        let empty = sightings.filter { $0.content.isEmpty && $0.isEnd }.map(\.offset).min()
        let shown = sightings.filter { !$0.content.isEmpty && $0.isEnd }.map(\.range.upperBound).min()
        if let shown, shown < reached { return nil }
        if let empty, empty < reached { return nil }
        if let shown {
            end = shown
        } else if let claimed = total.exactCount, claimed >= reached, claimed <= empty ?? .max {
            end = claimed
        } else if let empty, empty == reached, sightings.contains(where: { $0.isWitnessed && $0.offset == empty }) {
            // The last item was seen, and for sure nothing behind it.
            end = empty
        } else {
            end = nil
        }
        // R20: items beyond a total turn it into an estimate.
        if let claimed = total.exactCount, claimed < reached {
            self.total = .estimate(reached)
        } else {
            self.total = total
        }
        stretches = ListMap.stretches(
            cached, seen, alignment, end: end, bound: empty, isEndSeen: shown != nil || empty != nil && empty == end)
    }

    /// Whether anything came or went behind this position, as opposed to a total that nothing explains.
    func hasShifts(behind position: Int) -> Bool {
        stretches.contains { stretch in
            stretch.origin.upperBound > position && stretch.right.map { $0.shift != stretch.left.shift } ?? false
        }
    }

    private static func seen(in sightings: [Sighting]) -> [Seen]? {
        var items: [Int: Seen] = [:]
        var keys: [UInt64: Int] = [:]
        for (number, sighting) in sightings.enumerated() {
            for (index, identity) in sighting.identities.enumerated() {
                let origin = sighting.offset + index
                if let known = items[origin] {
                    guard sightings[known.sighting].shows(known.index, asIn: sighting, index) else { return nil }
                    continue
                }
                guard keys.updateValue(origin, forKey: identity.key) == nil else { return nil }
                items[origin] = Seen(origin: origin, sighting: number, index: index, place: sighting.places[index])
            }
        }
        return items.values.sorted { $0.origin < $1.origin }
    }

    private static func stretches(
        _ cached: Reconciler.Cached, _ seen: [Seen], _ alignment: Alignment, end: Int?, bound: Int?, isEndSeen: Bool
    ) -> [Stretch] {
        let heldEnd = cached.runs.last?.upperBound ?? 0
        let cachedEnd = max(cached.length ?? heldEnd, heldEnd)
        // The ends of the two lists are as good as an anchor where both are known.
        let isOpen = cached.length == nil || end == nil
        let originEnd = end ?? bound ?? .max
        var stretches: [Stretch] = []
        var left = Alignment.Anchor(cached: -1, origin: -1)
        let rights: [Alignment.Anchor?] = alignment.anchors.map { $0 } + [nil]
        for right in rights {
            let positions = left.cached + 1..<max(left.cached + 1, right?.cached ?? cachedEnd)
            let origin = left.origin + 1..<max(left.origin + 1, right?.origin ?? originEnd)
            let between = seen.filter { origin.contains($0.origin) }.map(\.origin)
            let held = cached.runs.map { $0.clamped(to: positions) }.filter { !$0.isEmpty }
            let moved = alignment.moved.filter { positions.contains($0) }
            // R20: a total alone takes nothing away: what comes at the end that it claims has to be seen.
            let isLoss =
                right == nil && !isOpen && !isEndSeen && held.reduce(-moved.count) { $0 + $1.count } > origin.count
            let unseen = Coverage(between.map { $0..<$0 + 1 }).gaps(
                in: origin.lowerBound..<origin.upperBound + (isLoss ? 1 : 0))
            // Where everything up to the end was seen, it does not matter where the cached list ended.
            let isSeenWhole = isEndSeen && end != nil && unseen.isEmpty
            stretches.append(
                Stretch(
                    cached: positions, origin: origin, left: left, right: right,
                    isOpen: right == nil && isOpen && !isSeenWhole, seen: between, unseen: unseen, held: held,
                    moved: moved))
            if let right { left = right }
        }
        return stretches
    }
}

/// What lies between two anchors.
struct Stretch: Equatable {
    /// Positions of the cached list.
    var cached: Range<Int>
    /// Positions at the origin; up to the last there can be when the stretch is open.
    var origin: Range<Int>
    var left: Alignment.Anchor
    /// Nil for the last stretch, which ends with the list.
    var right: Alignment.Anchor?
    /// Whether nobody knows where it ends, here or at the origin.
    var isOpen: Bool
    /// Positions at the origin that were seen; none of the items is an anchor.
    var seen: [Int]
    /// And the one behind a claimed end that would take away what is held.
    var unseen: [Range<Int>]
    /// Positions of the cached list that are held.
    var held: [Range<Int>]
    /// Those of them whose items were seen elsewhere.
    var moved: [Int]

    /// Nothing that is held could be lost here.
    var holdsNothing: Bool { held.reduce(0) { $0 + $1.count } == moved.count }

    /// Its length explains itself: as long as before, less what moved out.
    var isUnchanged: Bool { !isOpen && seen.isEmpty && cached.count - moved.count == origin.count }

    var isUnknown: Bool { !holdsNothing && !isUnchanged && !(unseen.isEmpty && !isOpen) }

    /// The edges of a stretch without gaps that ends with anchors, or with both lists, are pinned down: what is left is
    /// to halve it.
    var isWhole: Bool { held == [cached] }
}
