import PageModel

/// The item keys of recently arrived pages. With them, a new answer can be compared with a stored page that is not read
/// again.
///
/// A page is identified by its fingerprint, a hash of the identities of its items. A stored page with a known
/// fingerprint has the same items.
struct RecentPages: Equatable {
    /// Overlapping pages arrive soon after one another, so few need to be kept.
    private static let most = 32

    private var keys: [UInt64: [UInt64]] = [:]
    private var order: [UInt64] = []

    /// Keeps the identities of a page that is about to be stored.
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

    /// Returns whether the items that arrived at `range` have the keys of the held items there. Returns nil when the
    /// held pages must be read, because their keys are not known.
    /// - Parameters:
    ///   - identities: the identities of the arrived items.
    ///   - range: the positions of the arrived items.
    ///   - pages: the pages that are held there.
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
