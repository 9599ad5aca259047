#if PostgreSQL
import PageModel

/// The rows that a commit will probably need, derived from its plan alone. The commit reads them in the round trip that
/// locks the list. A row that this value does not predict costs a further round trip.
struct CommitReads: Equatable {
    /// Positions whose page rows are needed.
    var rows: [Range<Int>] = []
    /// Positions whose pages are needed with their items.
    var items: [Range<Int>] = []
    /// The identity keys of the items that the plan writes.
    var keys: [UInt64] = []

    init(_ plan: CommitPlan) {
        for precondition in plan.preconditions { add(precondition.offset..<precondition.offset + 1) }
        // Each rearrangement moves the positions that later edits name.
        var layouts: [Rearrangement] = []
        func stored(_ range: Range<Int>) -> [Range<Int>] {
            layouts.reversed().reduce([range]) { ranges, layout in ranges.flatMap(layout.oldPositions) }
        }
        for edit in plan.edits {
            switch edit {
            case .insertPage(let page):
                // The row directly after the page is needed, too: its seam becomes inferred.
                let place = page.offset..<page.offset.advanced(upTo: max(page.content.count, 1) + 1)
                for range in stored(place) { add(range) }
                keys += page.content.identities.map(\.key)
            case .rearrange(let rearrangement):
                for piece in rearrangement.pieces {
                    switch piece {
                    case .kept(let range):
                        // The pages at the seams are cut, or joined with a neighbour.
                        for bound in [range.lowerBound, range.upperBound] where bound >= 0 && bound < .max {
                            for range in stored(max(0, bound - 1)..<bound.advanced(upTo: 1)) {
                                add(range)
                                items.append(range)
                            }
                        }
                    case .written(let page, _): keys += page.content.identities.map(\.key)
                    case .gap: break
                    }
                }
                for range in rearrangement.takenOut {
                    for range in stored(range) {
                        add(range)
                        items.append(range)
                    }
                }
                layouts.append(rearrangement)
            case .markContiguous(let range), .markStale(let range):
                for range in stored(range) { add(range) }
                if case .markStale = edit {
                    for bound in [range.lowerBound, range.upperBound] where bound > 0 && bound < .max {
                        items += stored(bound..<bound + 1)
                    }
                }
            case .touchPage(let offset, _):
                for range in stored(offset..<offset.advanced(upTo: 1)) { add(range) }
            case .truncate(let position):
                guard position >= 0 else { break }
                for range in stored(max(0, position - 1)..<Int.max) {
                    add(range)
                    items.append(range)
                }
            case .setTotal: add(0..<1)
            default: break
            }
        }
        rows = Coverage(rows).segments
        items = Coverage(items).segments
    }

    private mutating func add(_ range: Range<Int>) {
        let known = max(0, range.lowerBound)..<max(0, range.upperBound)
        if !known.isEmpty { rows.append(known) }
    }
}

extension Int {
    /// Returns the sum of the number and `distance`, or `Int.max` when the sum is not representable.
    fileprivate func advanced(upTo distance: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(distance)
        return overflow ? .max : sum
    }
}

extension Rearrangement {
    /// Returns the old positions of the items that the rearrangement keeps and moves to `range`.
    func oldPositions(_ range: Range<Int>) -> [Range<Int>] {
        guard let moves = kept() else { return [] }
        return moves.compactMap { move in
            let (lower, overflow) = move.range.lowerBound.addingReportingOverflow(move.distance)
            guard !overflow else { return nil }
            let upper = move.range.upperBound == .max ? Int.max : move.range.upperBound + move.distance
            let part = range.clamped(to: lower..<upper)
            guard !part.isEmpty else { return nil }
            return part.lowerBound - move.distance..<(part.upperBound == .max ? .max : part.upperBound - move.distance)
        }
    }
}
#endif
