import PageModel

/// The positions at which a sweep requests pages (R23).
struct SweepGrid: Equatable {
    /// The way in which pages can be requested from the origin.
    var access: PagingAccess
    /// The number of items of a full page.
    var pageSize: Int
    /// Whether `pageSize` is certain, so that an answer with fewer items counts as short.
    var isSizeSure = true

    /// The number of items that each request repeats from the page before, for an origin that accepts any offset (R21).
    private var overlap: Int { if case .offsets = access, pageSize > 1 { 1 } else { 0 } }
    /// The number of positions that an answer verifies.
    var step: Int { if case .grid(let size) = access { size } else { pageSize - overlap } }

    /// Returns the nearest position at or before this one that can be requested.
    func aligned(_ position: Int) -> Int {
        if case .grid(let size) = access { position / size * size } else { position }
    }

    /// Returns the request that verifies `position` and the positions after it.
    func requestRange(_ position: Int) -> Range<Int> {
        // On a grid, the request may repeat positions of the page that the sweep has verified already.
        if case .grid(let size) = access { return aligned(position)..<aligned(position) + size }
        return max(0, position - overlap)..<position + step
    }

    /// Returns the first position that a request verifies.
    func position(of requestRange: Range<Int>) -> Int { requestRange.upperBound - step }

    /// Returns the next requests, which can be in flight together. Only the first of them may begin after the total. If
    /// `position` itself is after the total, the total does not limit the requests.
    /// - Parameters:
    ///   - position: all positions before this one have been verified.
    ///   - most: the maximum number of requests to return.
    ///   - total: the exact total. `nil` means unknown.
    func requestRanges(from position: Int, most: Int, total: Int?) -> [Range<Int>] {
        let positions = (0..<most).map { position + $0 * step }
        guard let total, total >= position else { return positions.map(requestRange) }
        return (positions.prefix(1) + positions.dropFirst().filter { $0 <= total }).map(requestRange)
    }
}
