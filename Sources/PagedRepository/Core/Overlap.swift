import PageModel

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
    /// - Parameters:
    ///   - gap: positions that are not held, behind one that is, or from 0 on.
    ///   - size: how many items a page of this origin has.
    ///   - pages: the held pages, ascending.
    func spans(_ gap: Range<Int>, size: Int, behind pages: [PageSummary], most: Int) -> [FetchTarget] {
        var spans: [FetchTarget] = []
        var unproven = seamsWithoutProof(before: gap.lowerBound, pages)
        var position = gap.lowerBound
        while position < gap.upperBound, spans.count < most {
            let known = min(items, position)
            // The last page has room for known items where it is not full: there they cost nothing.
            let overlap = unproven + 1 >= period || gap.upperBound - position <= size - known ? known : 0
            let end = min(position + size - overlap, gap.upperBound)
            spans.append(.span(position..<end, overlap: overlap))
            unproven = overlap > 0 ? 0 : unproven + 1
            position = end
        }
        return spans
    }

    /// How many seams between held pages there are from the last one that was proven up to `position`. Where none was,
    /// the next one has its turn.
    private func seamsWithoutProof(before position: Int, _ pages: [PageSummary]) -> Int {
        guard period > 1 else { return 0 }
        var (low, high) = (0, pages.count)
        while low < high {
            let middle = (low + high) / 2
            if pages[middle].offset < position { low = middle + 1 } else { high = middle }
        }
        var (seams, end) = (0, position)
        while low > 0, seams < period {
            let page = pages[low - 1]
            guard page.range.upperBound == end, page.offset > 0 else { break }
            if page.evidence == .verified { return seams }
            seams += 1
            end = page.offset
            low -= 1
        }
        return period
    }
}
