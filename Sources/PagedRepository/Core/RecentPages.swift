import PageModel

/// What the pages that came last are made of, so that one of them need not be read again to be compared with what comes
/// next.
///
/// A page is known by its fingerprint, a hash of the identities of its items: where a stored page has it, these are its
/// items.
struct RecentPages: Equatable {
    /// Pages that come side by side come one soon after the other.
    private static let most = 32

    private var keys: [UInt64: [UInt64]] = [:]
    private var order: [UInt64] = []

    /// Keeps a page that is about to be stored.
    /// - Returns: its fingerprint.
    @discardableResult
    mutating func keep(_ identities: some Sequence<ItemIdentity>) -> UInt64 {
        let identities = Array(identities)
        let fingerprint = PageContent.fingerprint(of: identities)
        guard keys.updateValue(identities.map(\.key), forKey: fingerprint) == nil else { return fingerprint }
        order.append(fingerprint)
        if order.count > RecentPages.most { keys[order.removeFirst()] = nil }
        return fingerprint
    }

    /// Whether what arrived at `range` is, wherever the list holds something there, what it holds; nil when that has to
    /// be read.
    /// - Parameters:
    ///   - identities: of what arrived.
    ///   - pages: those that are held there.
    func agree(with identities: [ItemIdentity], at range: Range<Int>, pages: [PageSummary]) -> Bool? {
        for page in pages where page.range.overlaps(range) {
            guard let known = keys[page.fingerprint], known.count == page.count else { return nil }
            let common = page.range.clamped(to: range)
            let stored = known[common.lowerBound - page.offset..<common.upperBound - page.offset]
            let arrived = identities[common.lowerBound - range.lowerBound..<common.upperBound - range.lowerBound]
            guard stored.elementsEqual(arrived.lazy.map(\.key)) else { return false }
        }
        return true
    }
}
