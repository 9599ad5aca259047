import PageModel

/// Origins without a total that return their last page for every later position (R24). In a reconciliation, such an
/// answer looks like items that inserts have moved to its position.
extension ObservedPage {
    /// Whether another answer has the same items at another position, and neither answer reports more items. The answer
    /// at the earlier position is then the last page.
    func isLastPageAgain(_ other: ObservedPage) -> Bool {
        offset != other.offset && content.count > 1 && identities == other.identities && !saysMore && !other.saysMore
    }

    /// Returns the positions where the list holds all items of this answer, if the answer may be the last page again.
    /// Requested there, the last page returns the same items, and items that inserts have moved do not. Returns nil if
    /// the answer is no whole page, or if its items have not moved by whole pages.
    func earlierPlace(_ reach: Reconciler.Reach) -> Range<Int>? {
        guard content.count > 1, !saysMore, let first = places.first??.position, first > 0,
            isHeld(from: first)
        else { return nil }
        let shift = offset - first
        let isWhole =
            reach.isGrid ? shift.isMultiple(of: reach.pageSize) : content.count >= reach.pageSize
        return shift > 0 && isWhole ? first..<first + max(content.count, reach.pageSize) : nil
    }
}
