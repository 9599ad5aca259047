#if Tool
import PageModel

extension QueryRecord {
    /// Whether no answer of the origin has shown the end of the list, and no result window cuts the list off.
    var hasUnknownEnd: Bool { end == nil && total.exactCount == nil && !isCutOff }

    /// The sentence about an origin that counts more items than it returned, up to a known end. `nil` for any other list.
    var miscountText: String? {
        guard let end, let count = total.count, count > end else { return nil }
        return "the origin counts \(SizeText.count(count, "item", "items")), and returned \(SizeText.count(end))"
    }

    /// The reason for which the last run ended as unproven. `nil` when it did not.
    var unprovenText: String? {
        isUnproven ? miscountText ?? "the last sync could not show that the list is complete" : nil
    }

    /// The sentence about an origin that returns fewer items than it counts. `nil` when its result window does not cut
    /// the list off.
    var windowText: String? {
        guard let window = resultWindow, isCutOff else { return nil }
        let first = SizeText.count(window, "item", "items")
        guard let counted = total.count, counted > window else {
            return "the origin returns only the first \(first) (its result window)"
        }
        return
            "the origin counts \(SizeText.count(counted)) items and returns only the first \(first) (its result window)"
    }
}

extension ListOutline {
    /// The number of positions that the origin returns items for, as far as it is known. Held items behind a result
    /// window count, too: the origin has returned items there, or an insert has moved held items there.
    var reachableLength: Int {
        guard record.isCutOff, let window = record.resultWindow else { return length }
        return min(length, max(window, heldPages.last?.range.upperBound ?? 0))
    }
}
#endif
