import PageModel

/// How a cached list becomes what is known of the list at the origin: one step (R4). Afterwards an item lies where the
/// origin has it, as far as anybody knows.
struct Repair: Equatable {
    var rearrangement: Rearrangement
    /// What single answers showed, in positions afterwards (G1).
    var verified: [Range<Int>] = []
    /// What is not understood: it stays readable, does not count as held, and is fetched again.
    var demoted: [Range<Int>] = []
    var total: Total
    var end: Int?
    /// Whether more than the head was asked for.
    var hasAsked: Bool
    /// Whether page one is held just as it came.
    var isHeadUntouched: Bool
    /// Whether any position is another than before, or any item.
    var isChange: Bool

    /// For the commit, in order. The total and the end are the caller's to add.
    var edits: [ListEdit] {
        (isChange ? [.rearrange(rearrangement)] : []) + demoted.map { .demote($0) } + verified.map { .verify($0) }
    }

    init(_ map: ListMap, _ sightings: [Sighting], hasAsked: Bool) {
        var layout = RepairLayout(sightings)
        let bySeen = Dictionary(uniqueKeysWithValues: map.seen.map { ($0.origin, $0) })
        isHeadUntouched = Repair.isHeld(sightings[0])
        let anchors = map.alignment.anchors
        for (number, stretch) in map.stretches.enumerated() {
            layout.lay(stretch, bySeen)
            guard number < anchors.count, let item = bySeen[anchors[number].origin] else { continue }
            let sighting = sightings[item.sighting]
            if sighting.isHeldAsSent(item.index), isHeadUntouched || item.origin >= sightings[0].content.count {
                layout.keep(anchors[number].cached..<anchors[number].cached + 1)
            } else {
                layout.write(item)
            }
        }
        rearrangement = Rearrangement(layout.finished())
        verified = sightings.map(\.range).filter { !$0.isEmpty }
        demoted = layout.demoted
        total = map.total
        end = map.end
        self.hasAsked = hasAsked
        isChange = rearrangement.pieces != [.kept(0..<Int.max)]
    }

    /// A head that is as it was stays the page that it is, with its validator; any other is stored as it came.
    private static func isHeld(_ head: Sighting) -> Bool {
        head.places.enumerated().allSatisfy { index, place in place?.position == index && head.isHeldAsSent(index) }
    }
}
