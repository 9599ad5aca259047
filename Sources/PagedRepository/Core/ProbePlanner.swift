import PageModel

/// Chooses the positions to request for a stretch that is not explained. Pure logic, without I/O.
enum ProbePlanner {
    /// Stretches of at most this many unseen pages are read completely. Only larger ones are probed.
    private static let fewPages = 2

    static func probes(about stretch: AnchoredInterval, _ reach: Reconciler.Reach) -> [Range<Int>] {
        let unseen = stretch.unseen.reduce(0) { $0.addingReportingOverflow($1.count).overflow ? .max : $0 + $1.count }
        if !stretch.isOpen, unseen <= reach.pageSize * fewPages {
            return stretch.unseen.flatMap {
                pages(covering: $0, reach, isEnd: $0.upperBound > stretch.origin.upperBound)
            }
        }
        let edges = edges(of: stretch).filter { position in stretch.unseen.contains { $0.contains(position) } }
        if !edges.isEmpty { return edges.map { probe(at: $0, isWide: true, reach) } }
        // Positions between two new items count as new. Only unseen ranges next to an anchor are halved.
        let sides = [stretch.unseen.first, stretch.unseen.last].compactMap { $0 }.filter {
            $0.lowerBound == stretch.origin.lowerBound || $0.upperBound >= stretch.origin.upperBound
        }
        guard let widest = sides.filter({ $0.upperBound < .max }).max(by: { $0.count < $1.count }) else { return [] }
        return [
            probe(at: (widest.lowerBound + widest.upperBound) / 2, isWide: widest.count > reach.pageSize * 4, reach)
        ]
    }

    /// Returns a probe in the middle of the widest unseen range.
    static func middle(of stretches: [AnchoredInterval], _ reach: Reconciler.Reach) -> [Range<Int>] {
        let unseen = stretches.flatMap(\.unseen).filter { $0.upperBound < .max }
        guard let widest = unseen.max(by: { $0.count < $1.count }) else { return [] }
        return [probe(at: (widest.lowerBound + widest.upperBound) / 2, isWide: true, reach)]
    }

    /// Returns where the ends of the held segments would be at the origin if no item had moved.
    private static func edges(of stretch: AnchoredInterval) -> [Int] {
        var edges: [Int] = []
        for segment in stretch.held {
            let touchesLeft = segment.lowerBound == stretch.cached.lowerBound
            let touchesRight = stretch.right != nil && segment.upperBound == stretch.cached.upperBound
            switch (touchesLeft, touchesRight) {
            case (true, true): break
            case (true, false): edges.append(segment.upperBound - 1 + stretch.left.shift)
            case (false, true): edges.append(segment.lowerBound + (stretch.right?.shift ?? 0))
            case (false, false):
                let middle = (segment.lowerBound + segment.upperBound) / 2
                edges.append(middle + stretch.left.shift)
                if let right = stretch.right, right.shift != stretch.left.shift { edges.append(middle + right.shift) }
            }
        }
        // If no item is at a position, the item before it may be the last of the list.
        if stretch.isOpen, stretch.origin.upperBound < .max, !stretch.origin.isEmpty {
            edges.append(stretch.origin.upperBound - 1)
        }
        return edges
    }

    /// Returns probes in the middle of the widest held parts of stretches that are only inferred to be unchanged (R18).
    /// The number of probes is at most ⌈log2 n⌉ for n pages. A position that is not held has no item to compare.
    static func audit(_ stretches: [AnchoredInterval], pages: Int, _ reach: Reconciler.Reach) -> [Range<Int>] {
        var wide = stretches.filter(\.isUnchanged).flatMap(\.heldAtOrigin).filter { $0.count > reach.pageSize }
        var probes: [Range<Int>] = []
        for _ in 0..<(max(pages, 2) - 1).bitWidth - (max(pages, 2) - 1).leadingZeroBitCount {
            guard let index = wide.indices.max(by: { wide[$0].count < wide[$1].count }),
                wide[index].count > reach.pageSize
            else { break }
            let range = wide.remove(at: index)
            let middle = (range.lowerBound + range.upperBound) / 2
            probes.append(probe(at: middle, isWide: true, reach))
            wide += [range.lowerBound..<middle, middle..<range.upperBound]
        }
        return probes
    }

    /// Returns the positions to request to see the item at `position` and the items around it.
    private static func probe(at position: Int, isWide: Bool, _ reach: Reconciler.Reach) -> Range<Int> {
        if reach.isGrid {
            let start = position / reach.pageSize * reach.pageSize
            return start..<start + reach.pageSize
        }
        // Near the end of the search, a whole page shows where to probe next, and often is the answer already.
        let size = isWide ? reach.probeSize : reach.pageSize
        let start = max(0, isWide ? position - 1 : position - size / 2)
        return start..<start + size
    }

    /// Returns pages that cover `range`. If the origin takes any offset, they include the item before `range`, so that
    /// the seam is verified. At the end of the list that item is left out when it would cost one more page.
    private static func pages(covering range: Range<Int>, _ reach: Reconciler.Reach, isEnd: Bool) -> [Range<Int>] {
        let size = reach.pageSize
        let leadIn = isEnd && range.count % size == 0 ? 0 : 1
        let first = reach.isGrid ? range.lowerBound / size * size : max(0, range.lowerBound - leadIn)
        return stride(from: first, to: range.upperBound, by: size).map { $0..<$0 + size }
    }
}
