#if Tool
import PageModel

/// The state of every position of a list, from the first to the last. Pure. Its cost depends on the held pages and the
/// ledger, never on a claimed total (R44).
struct CoverageMap: Equatable {
    /// The states by rank. A cell with several states shows the first of them.
    enum State: String, CaseIterable {
        /// The fetch of the position, or its refresh, fails.
        case failing
        /// The position is not held.
        case gap
        /// Stored in an earlier generation of the list, and still readable (R19).
        case old
        /// Held, but no answer has shown that the page follows the page before it, or that all its items follow each
        /// other (G1). A sweep could prove the order. Pages that only the origin's own cursors join are shown by their
        /// age instead.
        case inferred
        /// Held, and older than the policy allows.
        case stale
        case fresh

        fileprivate var rank: Int { State.allCases.firstIndex(of: self) ?? 0 }
    }

    /// Positions of one state.
    struct Interval: Equatable {
        var range: Range<Int>
        var state: State
    }

    /// Maximal intervals of one state in ascending order. Together they cover every position.
    let stretches: [Interval]
    /// Whether the list may continue after the last interval (R24).
    let isOpen: Bool

    /// The number of positions.
    var length: Int { stretches.last?.range.upperBound ?? 0 }

    init(of list: ListOutline, policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) {
        let failing = list.ledger.filter(\.state.isFailure).map(\.offset)
        let end = max(
            list.length, list.pages.last?.range.upperBound ?? 0,
            failing.last.map { min($0, ListTotal.largest) + 1 } ?? 0)
        isOpen = list.record.validatedAt != nil && list.record.end == nil && list.record.total.exactCount == nil
        var found: [Interval] = []
        func append(_ range: Range<Int>, _ state: State) {
            guard !range.isEmpty else { return }
            if let last = found.last, last.state == state {
                found[found.count - 1].range = last.range.lowerBound..<range.upperBound
            } else {
                found.append(Interval(range: range, state: state))
            }
        }
        // A failure covers the page that would start at its offset, with the size of the largest page. It ends earlier
        // at the next offset with a page or a ledger entry.
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

    /// The number of positions in each present state.
    var counts: [(state: State, count: Int)] {
        var counts: [State: Int] = [:]
        for stretch in stretches { counts[stretch.state, default: 0] += stretch.range.count }
        return State.allCases.reversed().compactMap { state in counts[state].map { (state, $0) } }
    }

    /// The list in cells of `size` positions each. The last cell may be shorter. Each cell shows the most important of
    /// its states.
    /// - Parameter size: at least 1. The caller has to choose it so that the number of cells stays small.
    func cells(of size: Int) -> [Interval] {
        var cells: [Interval] = []
        var rest = stretches[...]
        var start = 0
        while start < length {
            let range = start..<min(start + max(1, size), length)
            rest = rest.drop { $0.range.upperBound <= range.lowerBound }
            let states = rest.prefix { $0.range.lowerBound < range.upperBound }.map(\.state)
            cells.append(Interval(range: range, state: states.min { $0.rank < $1.rank } ?? .gap))
            start = range.upperBound
        }
        return cells
    }

    /// The number of positions in a cell, such that there are at most `cells` cells. The number is 1, 2 or 5 times a
    /// power of ten, so that the legend shows a round number.
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
