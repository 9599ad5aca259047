import PageModel

/// The change that turns the cached list into the known list at the origin, in one step (R4). Afterwards, each item is
/// at its position at the origin, as far as that is known.
struct RepairPlan: Equatable {
    var rearrangement: Rearrangement
    /// Ranges that single answers showed, in positions after the change (G1).
    var verified: [Range<Int>] = []
    /// Ranges that are not explained. They stay readable, do not count as held, and are fetched again.
    var markedStale: [Range<Int>] = []
    var total: ListTotal
    var end: Int?
    /// Whether the reconciliation has sent probes.
    var hasProbed: Bool
    /// Whether page one is held exactly as it arrived.
    var isHeadUntouched: Bool
    /// Whether any position or item changes.
    var isChange: Bool

    /// The edits of the commit, in order. The caller adds the total and the end.
    var edits: [ListEdit] {
        (isChange ? [.rearrange(rearrangement)] : []) + markedStale.map { .markStale($0) }
            + verified.map { .markContiguous($0) }
    }

    init(_ map: ListAlignment, _ observedPages: [ObservedPage], hasProbed: Bool) {
        var layout = RearrangementBuilder(observedPages)
        let bySeen = Dictionary(uniqueKeysWithValues: map.seen.map { ($0.origin, $0) })
        isHeadUntouched = RepairPlan.isHeld(observedPages[0])
        let anchors = map.alignment.anchors
        for (number, stretch) in map.stretches.enumerated() {
            layout.append(stretch, bySeen)
            guard number < anchors.count, let item = bySeen[anchors[number].origin] else { continue }
            let observed = observedPages[item.observed]
            if !map.reordered.contains(item.observed), observed.isHeldAsSent(item.index),
                isHeadUntouched || item.origin >= observedPages[0].content.count
            {
                layout.keep(anchors[number].cached..<anchors[number].cached + 1)
            } else {
                layout.write(item)
            }
        }
        rearrangement = Rearrangement(layout.finished())
        verified = observedPages.map(\.range).filter { !$0.isEmpty }
        markedStale = layout.markedStale
        total = map.total
        end = map.end
        self.hasProbed = hasProbed
        isChange = rearrangement.pieces != [.kept(0..<Int.max)]
    }

    /// Whether page one is held exactly as it arrived. If so, it keeps its page and validator. If not, it is stored as
    /// it arrived.
    private static func isHeld(_ head: ObservedPage) -> Bool {
        head.places.enumerated().allSatisfy { index, place in place?.position == index && head.isHeldAsSent(index) }
    }
}
