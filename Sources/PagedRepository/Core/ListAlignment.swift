import PageModel

/// The list at the origin, as several answers show it, aligned with the cached list.
struct ListAlignment: Equatable {
    /// An item that was seen at the origin.
    struct ObservedItem: Equatable {
        var origin: Int
        var observed: Int
        var index: Int
        var place: ItemPlace?
    }

    let cached: Reconciler.Cached
    /// Ascending by position at the origin, each position once.
    let seen: [ObservedItem]
    let alignment: Alignment
    /// The answers, by index, that show the items held at their positions in another order. Each position of such an
    /// answer is an anchor, because these items moved only within the answer.
    let reordered: Set<Int>
    /// The stretches before, between and after the anchors.
    let stretches: [AnchoredInterval]
    /// The length of the list, as the origin states it. An estimate if seen items contradict it.
    let total: ListTotal
    /// The end of the list at the origin. `nil` means unknown.
    let end: Int?

    /// Returns nil when two answers contradict each other.
    init?(_ observedPages: [ObservedPage], cached: Reconciler.Cached, total: ListTotal) {
        guard let seen = ListAlignment.seen(in: observedPages) else { return nil }
        self.seen = seen
        self.cached = cached
        let reordered = Set(observedPages.indices.filter { observedPages[$0].isReordered })
        self.reordered = reordered
        alignment = Alignment(
            seen.compactMap { item in
                item.place.map { place in
                    Alignment.Anchor(
                        cached: reordered.contains(item.observed) ? item.origin : place.position, origin: item.origin)
                }
            })
        let reached = seen.last.map { $0.origin + 1 } ?? 0
        // No item is at this position or after it.
        let empty = observedPages.filter { $0.content.isEmpty && $0.isEnd }.map(\.offset).min()
        // An end that only the total states is disproved by items behind it.
        let shown = observedPages.filter { !$0.content.isEmpty && $0.isEnd }.map(\.range.upperBound).min()
            .flatMap { $0 == total.exactCount && $0 < reached ? nil : $0 }
        if let shown, shown < reached { return nil }
        if let empty, empty < reached { return nil }
        if let shown {
            end = shown
        } else if let claimed = total.exactCount, claimed >= reached, claimed <= empty ?? .max {
            end = claimed
        } else if let empty, empty == reached, observedPages.contains(where: { $0.isWitnessed && $0.offset == empty }) {
            // The last item was seen, and the end after it is witnessed.
            end = empty
        } else {
            end = nil
        }
        // Items beyond a total turn it into an estimate (R20).
        if let claimed = total.exactCount, claimed < reached {
            self.total = .estimate(reached)
        } else {
            self.total = total
        }
        stretches = ListAlignment.stretches(
            cached, seen, alignment, end: end, bound: empty, isEndSeen: shown != nil || empty != nil && empty == end)
    }

    /// Whether items were inserted or removed after this position. A total that no shift explains does not count.
    func hasShifts(behind position: Int) -> Bool {
        stretches.contains { stretch in
            stretch.origin.upperBound > position && stretch.right.map { $0.shift != stretch.left.shift } ?? false
        }
    }

    private static func seen(in observedPages: [ObservedPage]) -> [ObservedItem]? {
        var items: [Int: ObservedItem] = [:]
        var keys: [UInt64: Int] = [:]
        for (number, observed) in observedPages.enumerated() {
            for (index, identity) in observed.identities.enumerated() {
                let origin = observed.offset + index
                if let known = items[origin] {
                    guard observedPages[known.observed].shows(known.index, asIn: observed, index) else { return nil }
                    continue
                }
                guard keys.updateValue(origin, forKey: identity.key) == nil else { return nil }
                items[origin] = ObservedItem(
                    origin: origin, observed: number, index: index, place: observed.places[index])
            }
        }
        return items.values.sorted { $0.origin < $1.origin }
    }

    private static func stretches(
        _ cached: Reconciler.Cached, _ seen: [ObservedItem], _ alignment: Alignment, end: Int?, bound: Int?,
        isEndSeen: Bool
    ) -> [AnchoredInterval] {
        let heldEnd = cached.segments.last?.upperBound ?? 0
        let cachedEnd = max(cached.length ?? heldEnd, heldEnd)
        // When both ends are known, they serve as an anchor.
        let isOpen = cached.length == nil || end == nil
        let originEnd = end ?? bound ?? .max
        var stretches: [AnchoredInterval] = []
        var left = Alignment.Anchor(cached: -1, origin: -1)
        let rights: [Alignment.Anchor?] = alignment.anchors.map { $0 } + [nil]
        for right in rights {
            let positions = left.cached + 1..<max(left.cached + 1, right?.cached ?? cachedEnd)
            let origin = left.origin + 1..<max(left.origin + 1, right?.origin ?? originEnd)
            let between = seen.filter { origin.contains($0.origin) }.map(\.origin)
            let held = cached.segments.map { $0.clamped(to: positions) }.filter { !$0.isEmpty }
            let moved = alignment.moved.filter { positions.contains($0) }
            // A total alone removes no items: the position after the claimed end must be seen (R20).
            let isLoss =
                right == nil && !isOpen && !isEndSeen && held.reduce(-moved.count) { $0 + $1.count } > origin.count
            let unseen = Coverage(between.map { $0..<$0 + 1 }).gaps(
                in: origin.lowerBound..<origin.upperBound + (isLoss ? 1 : 0))
            // If everything up to the end was seen, the end of the cached list does not matter.
            let isSeenWhole = isEndSeen && end != nil && unseen.isEmpty
            stretches.append(
                AnchoredInterval(
                    cached: positions, origin: origin, left: left, right: right,
                    isOpen: right == nil && isOpen && !isSeenWhole, seen: between, unseen: unseen, held: held,
                    moved: moved))
            if let right { left = right }
        }
        return stretches
    }
}

/// The positions between two anchors.
struct AnchoredInterval: Equatable {
    /// Positions in the cached list.
    var cached: Range<Int>
    /// Positions at the origin. In an open stretch, up to the largest possible position.
    var origin: Range<Int>
    var left: Alignment.Anchor
    /// `nil` for the last stretch, which ends with the list.
    var right: Alignment.Anchor?
    /// Whether the end of the stretch is unknown, in the cached list or at the origin.
    var isOpen: Bool
    /// Seen positions at the origin. None of their items is an anchor.
    var seen: [Int]
    /// Unseen positions at the origin. They include the position after a claimed end that would remove held items.
    var unseen: [Range<Int>]
    /// Held positions in the cached list.
    var held: [Range<Int>]
    /// Held positions whose items were seen elsewhere.
    var moved: [Int]

    /// Whether the stretch has no held item that could be lost.
    var holdsNothing: Bool { held.reduce(0) { $0 + $1.count } == moved.count }

    /// Where the held positions are at the origin, if the stretch is unchanged.
    var heldAtOrigin: [Range<Int>] {
        held.map { segment in
            let start = origin.lowerBound + (segment.lowerBound - cached.lowerBound)
            return (start..<start + segment.count).clamped(to: origin)
        }
    }

    /// Whether the stretch counts as unchanged by its length: as long as before, without the items that moved out of
    /// it.
    var isUnchanged: Bool { !isOpen && seen.isEmpty && cached.count - moved.count == origin.count }

    var isUnknown: Bool { !holdsNothing && !isUnchanged && !(unseen.isEmpty && !isOpen) }

    /// Whether the stretch has no gaps. Its edges are then fixed by anchors or by the ends of both lists, and only
    /// halving remains.
    var isWhole: Bool { held == [cached] }
}
