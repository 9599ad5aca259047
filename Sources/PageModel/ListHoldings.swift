/// A summary of the held positions of a list. A storage updates it with each commit, so that reading it costs the same
/// however many pages the list has.
public struct ListHoldings: Hashable, Sendable {
    /// The positions that count as held.
    public private(set) var held: Coverage
    /// The number of pages that count as held, including pages without items.
    public private(set) var pages: Int
    /// The number of stored pages of other generations (R19).
    public private(set) var olderPages: Int

    /// The most segments for which a storage keeps holdings. While a list has more segments, and until a later commit
    /// counts them again, its holdings are `nil`.
    package static let mostSegments = 64

    /// The holdings of a list without pages.
    public init() {
        held = Coverage([Range<Int>]())
        pages = 0
        olderPages = 0
    }

    /// The holdings of these pages.
    /// - Parameters:
    ///   - pages: the pages of the list, of any generation, in order.
    ///   - generation: the list's current generation. Pages of other generations do not count as held.
    public init(_ pages: some Sequence<PageSummary>, generation: Int) {
        var ranges: [Range<Int>] = []
        var (held, older) = (0, 0)
        for page in pages {
            guard page.generation == generation else {
                older += 1
                continue
            }
            held += 1
            ranges.append(page.range)
        }
        self.held = Coverage(ranges)
        self.pages = held
        olderPages = older
    }

    package init(held: Coverage, pages: Int, olderPages: Int) {
        self.held = held
        self.pages = pages
        self.olderPages = olderPages
    }

    /// The position after the last held item; 0 when no item is held.
    public var end: Int { held.segments.last?.upperBound ?? 0 }

    /// The holdings in the form that a storage keeps; `nil` when they have too many segments.
    package var kept: ListHoldings? { held.segments.count <= ListHoldings.mostSegments ? self : nil }

    // MARK: Updates

    /// Adds a stored page.
    /// - Parameter isHeld: whether the page belongs to the list's current generation.
    package mutating func add(_ range: Range<Int>, isHeld: Bool) {
        guard isHeld else { return olderPages += 1 }
        pages += 1
        held.add(range)
    }

    /// Removes a page.
    /// - Parameter isHeld: whether the page belonged to the list's current generation.
    package mutating func remove(_ range: Range<Int>, isHeld: Bool) {
        guard isHeld else { return olderPages -= 1 }
        pages -= 1
        held.remove(range)
    }

    /// Moves the pages at `range` by `distance`. The target has to be free.
    package mutating func move(_ range: Range<Int>, by distance: Int) {
        guard distance != 0 else { return }
        let moved = held.segments.map { $0.clamped(to: range) }.filter { !$0.isEmpty }
        held.remove(range)
        for segment in moved { held.add(segment.lowerBound + distance..<segment.upperBound + distance) }
    }

    /// Assigns all pages to an older generation.
    package mutating func startGeneration() {
        self = ListHoldings(held: Coverage([Range<Int>]()), pages: 0, olderPages: pages + olderPages)
    }
}
