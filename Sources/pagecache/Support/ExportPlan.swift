#if Tool
import PageModel

/// The pieces in which a list is read from end to end. A piece is a number of whole pages that adapts to about 1 MiB of
/// items, so that memory does not grow with the list. No page is split.
struct ExportPlan {
    /// The intended bytes of items in a piece. A single page may have more.
    private static let wanted = 1 << 20

    private let pages: [Range<Int>]
    private var next = 0
    private var pagesAtATime = 1

    /// - Parameter pages: in ascending order of their offsets.
    init(_ pages: [PageSummary]) {
        self.pages = pages.filter { $0.count > 0 }.map(\.range)
    }

    /// The positions of the next piece. Returns nil after the last one.
    /// - Parameter bytes: the size of the piece read last. `nil` before the first.
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
