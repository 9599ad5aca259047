/// Which pages are asked for together with known items before them (R21): a pure decision.
///
/// An item that is asked for twice takes the place of a new one, and at two items a page that doubles the requests. So
/// small pages overlap now and then: what overlaps cost is at most one item in twenty.
struct Overlap: Equatable {
    /// How many known items are asked for again.
    var items: Int
    /// Of so many pages in a row one overlaps; 1: each.
    var period: Int

    /// - Parameters:
    ///   - wanted: how many known items are to be asked for again.
    ///   - size: how many items a page of this origin has.
    init(_ wanted: Int, size: Int) {
        items = max(0, min(wanted, size - 1))
        period = items == 0 ? 1 : max(1, (20 * items + size - items - 1) / (size - items))
    }

    /// The fetches that fill a gap, at most so many.
    ///
    /// Whether a page overlaps follows from its position alone: all processes plan the same pages, and a page has the
    /// same lease in each of them (R30).
    /// - Parameters:
    ///   - gap: positions that are not held, behind one that is, or from 0 on.
    ///   - size: how many items a page of this origin has.
    func spans(_ gap: Range<Int>, size: Int, most: Int) -> [FetchTarget] {
        var spans: [FetchTarget] = []
        var position = gap.lowerBound
        while position < gap.upperBound, spans.count < most {
            let known = min(items, position)
            // The last page has room for known items where it is not full: there they cost nothing.
            let overlap = isProven(at: position, size: size) || gap.upperBound - position <= size - known ? known : 0
            let end = min(position + size - overlap, gap.upperBound)
            spans.append(.span(position..<end, overlap: overlap))
            position = end
        }
        return spans
    }

    /// Whether the page at `position` overlaps: behind page one, the first of every `period` pages.
    private func isProven(at position: Int, size: Int) -> Bool {
        let cycle = period * size - items
        return position < size || (position - size) % cycle < size - items
    }
}
