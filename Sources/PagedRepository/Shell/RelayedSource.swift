package import PageModel

/// A source that wraps another one. The members that the wrapper does not define are those of the wrapped source.
package protocol RelayedSource: PromptSource, RepeatingSource, SizedSource {
    var source: any PageSource { get }
}

extension RelayedSource {
    package var access: PagingAccess { source.access }
    package var usage: SourceUsage { source.usage }
    package var largestOverlap: Int? { source.largestOverlap }
    package var repeatsLast: Bool { source.mayRepeatLast }
    package var requestedSize: Int? { source.sizeOfRequest(nil) }
    package var probeSize: Int? { source.probeSize }
    package var timeLimit: Duration? { source.timeLimit }
    package var returnsPromptly: Bool { source.isPrompt }
    package func authorize(_ list: QueryRecord) throws(FetchFailure) { try source.authorize(list) }
    package func restore(from list: QueryRecord) { source.restore(from: list) }
}

/// A source whose requests for the page after the held items may begin with the last held item, although its planned
/// pages have no overlap (R21).
package protocol RepeatingSource: PageSource {
    /// Whether such requests are allowed.
    var repeatsLast: Bool { get }
}

extension PageSource {
    /// Whether a page that continues a list may begin with the last held item.
    var mayRepeatLast: Bool {
        if access != .offsets { return false }
        return (self as? any RepeatingSource)?.repeatsLast ?? (largestOverlap ?? .max > 0)
    }
}

/// A source that states how many items its requests ask for. Page one can have more items than that.
package protocol SizedSource: PageSource {
    /// The number of items that a request without a size asks for. `nil` means that the source does not know it.
    var requestedSize: Int? { get }
}

extension PageSource {
    /// The number of items that a request asks for. Returns nil if it is not known.
    /// - Parameter size: the size in the request. `nil` leaves the size to the source.
    func sizeOfRequest(_ size: Int?) -> Int? { size ?? (self as? any SizedSource)?.requestedSize }

    /// The number of items of a full page of an origin with page numbers. Page one, by whose size positions are
    /// counted, can have more items. Returns nil for any other origin.
    var fullPageOfGrid: Int? {
        guard case .grid(let size) = access else { return nil }
        return min(size, sizeOfRequest(nil) ?? size)
    }
}
