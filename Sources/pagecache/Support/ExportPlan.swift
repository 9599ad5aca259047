#if Tool
import PageModel

/// In which pieces a list is read from end to end: whole pages, as many at a time as make a piece of a few megabytes,
/// whatever the size of items. So memory stays flat, and nothing is cut out of a page.
struct ExportPlan {
    /// Bytes of items that a piece should have; one page may have more.
    private static let wanted = 1 << 20

    private let pages: [Range<Int>]
    private var next = 0
    private var pagesAtATime = 1

    /// - Parameter pages: by offset, ascending.
    init(_ pages: [PageSummary]) {
        self.pages = pages.filter { $0.count > 0 }.map(\.range)
    }

    /// The positions of the next piece; nil when there is none.
    /// - Parameter bytes: how large the piece was that was read last; nil before the first.
    mutating func nextPiece(after bytes: Int?) -> Range<Int>? {
        if let bytes {
            if bytes < ExportPlan.wanted / 2 {
                pagesAtATime = min(pagesAtATime * 2, 1_024)
            } else if bytes > ExportPlan.wanted * 2 {
                pagesAtATime = max(pagesAtATime / 2, 1)
            }
        }
        guard next < pages.count else { return nil }
        let last = min(next + pagesAtATime, pages.count) - 1
        defer { next = last + 1 }
        return pages[next].lowerBound..<pages[last].upperBound
    }
}
#endif
