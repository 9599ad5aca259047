/// What a list holds, in short. A storage keeps the value up with each commit, so that reading it costs the same
/// however many pages the list has.
public struct ListHoldings: Hashable, Sendable {
    /// The positions that count as held.
    public private(set) var held: Coverage
    /// How many pages count as held; those without items, too.
    public private(set) var pages: Int
    /// How many pages of other generations are still stored (R19).
    public private(set) var olderPages: Int

    /// A storage keeps up no list with more runs than this: its holdings are nil until they are few again.
    package static let mostRuns = 64

    /// The holdings of a list without pages.
    public init() {
        held = Coverage([Range<Int>]())
        pages = 0
        olderPages = 0
    }

    /// The holdings of these pages.
    /// - Parameters:
    ///   - pages: the pages of the list, of any generation, in order.
    ///   - generation: the list's; pages of other generations do not count as held.
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

    /// The position behind the last held item; 0 where nothing is held.
    public var end: Int { held.runs.last?.upperBound ?? 0 }

    /// The holdings as a storage keeps them; nil where they have too many runs.
    package var kept: ListHoldings? { held.runs.count <= ListHoldings.mostRuns ? self : nil }

    // MARK: Keeping up

    /// A page was stored.
    /// - Parameter isHeld: whether it is of the list's generation.
    package mutating func add(_ range: Range<Int>, isHeld: Bool) {
        guard isHeld else { return olderPages += 1 }
        pages += 1
        held.add(range)
    }

    /// A page was removed.
    /// - Parameter isHeld: whether it was of the list's generation.
    package mutating func remove(_ range: Range<Int>, isHeld: Bool) {
        guard isHeld else { return olderPages -= 1 }
        pages -= 1
        held.remove(range)
    }

    /// The pages at `range` have moved by `distance`, to where nothing was.
    package mutating func move(_ range: Range<Int>, by distance: Int) {
        guard distance != 0 else { return }
        let moved = held.runs.map { $0.clamped(to: range) }.filter { !$0.isEmpty }
        held.remove(range)
        for run in moved { held.add(run.lowerBound + distance..<run.upperBound + distance) }
    }

    /// All that was held belongs to an older generation now.
    package mutating func beginGeneration() {
        self = ListHoldings(held: Coverage([Range<Int>]()), pages: 0, olderPages: pages + olderPages)
    }
}
