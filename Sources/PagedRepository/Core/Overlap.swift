/// Decides which pages are requested together with known items before them (R21). Pure logic, without I/O.
///
/// An item that is requested again takes the place of a new one. At two items a page, that doubles the number of
/// requests. So only some of the small pages overlap. Overlaps cost at most one item in twenty.
struct Overlap: Equatable {
    /// The number of known items that an overlapping page requests again.
    var items: Int
    /// One of this many consecutive pages overlaps. 1 means that every page overlaps.
    var period: Int

    /// - Parameters:
    ///   - wanted: the number of known items to request again.
    ///   - size: the number of items of a full page of this origin.
    init(_ wanted: Int, size: Int) {
        items = max(0, min(wanted, size - 1))
        period = items == 0 ? 1 : max(1, (20 * items + size - items - 1) / (size - items))
    }

    /// Returns the fetches that fill a gap.
    ///
    /// Whether a page overlaps depends only on its position. So all processes plan the same pages, and a page has the
    /// same lease in each of them (R30).
    /// - Parameters:
    ///   - gap: positions that are not held. The gap begins at 0 or directly after a held position.
    ///   - size: the number of items of a full page of this origin.
    ///   - most: the maximum number of fetches.
    func spans(_ gap: Range<Int>, size: Int, most: Int) -> [FetchTarget] {
        var spans: [FetchTarget] = []
        var position = gap.lowerBound
        while position < gap.upperBound, spans.count < most {
            let known = min(items, position)
            // If the last page of the gap is not full, it has room for known items at no cost.
            let overlap = isProven(at: position, size: size) || gap.upperBound - position <= size - known ? known : 0
            let end = min(position + size - overlap, gap.upperBound)
            spans.append(.range(position..<end, overlap: overlap))
            position = end
        }
        return spans
    }

    /// Whether the page at `position` overlaps: page one, and the first of every `period` pages after it.
    private func isProven(at position: Int, size: Int) -> Bool {
        let cycle = period * size - items
        return position < size || (position - size) % cycle < size - items
    }
}
