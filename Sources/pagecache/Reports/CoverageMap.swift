#if Tool
import PageModel

/// A list from its first position to its last, by what there is to say of each stretch: pure. What it costs depends on
/// the pages that are held and the ledger, never on a total that somebody claims (R44).
struct CoverageMap: Equatable {
    /// What is shown of a stretch where several things hold is the first of these.
    enum State: String, CaseIterable {
        /// The fetch that would bring it, or bring it up to date, fails.
        case failing
        /// Not held.
        case gap
        /// Readable still, from before the list was replaced (R19).
        case old
        /// Held, and believed rather than proven to follow what lies before it (G1), where a sweep could prove it:
        /// pages that only the origin's own cursors join count by their age.
        case inferred
        /// Held, and older than it should be.
        case stale
        case fresh

        fileprivate var rank: Int { State.allCases.firstIndex(of: self) ?? 0 }
    }

    /// Positions of one state.
    struct Stretch: Equatable {
        var range: Range<Int>
        var state: State
    }

    /// Maximal stretches, ascending, without holes between them.
    let stretches: [Stretch]
    /// Whether the list may go on behind the last of them (R24).
    let isOpen: Bool

    /// How many positions there are.
    var length: Int { stretches.last?.range.upperBound ?? 0 }

    init(of list: ListOutline, policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) {
        let failing = list.ledger.filter(\.state.isFailure).map(\.offset)
        let end = max(
            list.length, list.pages.last?.range.upperBound ?? 0, failing.last.map { min($0, Total.largest) + 1 } ?? 0)
        isOpen = list.record.validatedAt != nil && list.record.end == nil && list.record.total.exactCount == nil
        var found: [Stretch] = []
        func append(_ range: Range<Int>, _ state: State) {
            guard !range.isEmpty else { return }
            if let last = found.last, last.state == state {
                found[found.count - 1].range = last.range.lowerBound..<range.upperBound
            } else {
                found.append(Stretch(range: range, state: state))
            }
        }
        // A failure is that of what is asked for at its offset: a page's worth, up to the next place that something is
        // known of.
        let pageSize = max(1, list.pages.map(\.count).max() ?? 1)
        var places = (list.pages.map(\.offset) + list.ledger.map(\.offset)).sorted()[...]
        var ailing = failing[...]
        func appendMissing(_ range: Range<Int>) {
            var position = range.lowerBound
            while let offset = ailing.first, offset < range.upperBound {
                append(position..<offset, .gap)
                places = places.drop { $0 <= offset }
                ailing = ailing.dropFirst()
                position = min(places.first ?? .max, offset + pageSize, range.upperBound)
                append(offset..<position, .failing)
            }
            append(position..<range.upperBound, .gap)
        }
        var position = 0
        var before: PageSummary?
        for page in list.pages where page.count > 0 && page.range.upperBound > position {
            if page.offset > position { appendMissing(position..<page.offset) }
            let isFailing = ailing.first.map { $0 < page.range.upperBound } ?? false
            ailing = ailing.drop { $0 < page.range.upperBound }
            let isBelieved =
                page.evidence == .inferred && before?.range.upperBound == page.offset
                && before.map(page.isReached) == false
            before = page
            append(
                max(position, page.offset)..<page.range.upperBound,
                isFailing ? .failing : CoverageMap.state(of: page, in: list, isBelieved: isBelieved, policy, now))
            position = page.range.upperBound
        }
        if position < end { appendMissing(position..<end) }
        stretches = found
    }

    private static func state(
        of page: PageSummary, in list: ListOutline, isBelieved: Bool, _ policy: FreshnessPolicy, _ now: Timestamp
    ) -> State {
        if page.generation < list.record.version.generation { return .old }
        if isBelieved || !page.innerInferredSeams.isEmpty { return .inferred }
        return policy.freshness(ofPageValidatedAt: page.validatedAt, in: list.record, now: now) == .fresh
            ? .fresh : .stale
    }

    /// How many positions are in each state that there is.
    var counts: [(state: State, count: Int)] {
        var counts: [State: Int] = [:]
        for stretch in stretches { counts[stretch.state, default: 0] += stretch.range.count }
        return State.allCases.reversed().compactMap { state in counts[state].map { (state, $0) } }
    }

    /// The list in cells of so many positions each, the last perhaps fewer; each shows what is most worth knowing of
    /// it.
    /// - Parameter size: at least 1. The caller sees to it that there are not too many cells.
    func cells(of size: Int) -> [Stretch] {
        var cells: [Stretch] = []
        var rest = stretches[...]
        var start = 0
        while start < length {
            let range = start..<min(start + max(1, size), length)
            rest = rest.drop { $0.range.upperBound <= range.lowerBound }
            let states = rest.prefix { $0.range.lowerBound < range.upperBound }.map(\.state)
            cells.append(Stretch(range: range, state: states.min { $0.rank < $1.rank } ?? .gap))
            start = range.upperBound
        }
        return cells
    }

    /// How many positions a cell has to hold so that there are at most so many cells: 1, 2 or 5 times a power of ten,
    /// so that the numbers beside the cells can be read.
    static func cellSize(for length: Int, atMost cells: Int) -> Int {
        var size = 1
        var step = 0
        while (length + size - 1) / size > max(1, cells) {
            size = step % 3 == 1 ? size / 2 * 5 : size * 2
            step += 1
        }
        return size
    }
}
#endif
