import PageModel

/// The knowledge about the end of a list, from all passes of a run (R20, R24).
struct EndBelief: Equatable {
    /// A total that is larger than the number of returned items. It counts as wrong once a second page one repeats it.
    struct Overcount: Equatable {
        var reached: Int
        var total: Int
    }

    /// The position at which the last pass found no items, although the total is larger. One request checks whether
    /// this is still so.
    var suspected: Int?
    /// The smaller total behind page one that has begun this pass. `nil` once page one has confirmed or refuted it.
    var shrunkTo: Int?
    /// The mismatch at the end of the pass before; see `PassConclusion`.
    var overcount: Overcount?
    /// The result window that this run has opened, to see whether it still cuts the list off.
    var openedWindow: Int?
    /// The end that an empty page behind it has proven in this run.
    var proven: Int?
    /// The exact total in the last page one of this run, as the origin stated it. `nil` without such an answer, and
    /// with an estimated total.
    private(set) var counted: Int?
    /// The positions behind which no more items follow, as answers of this run state.
    private var stated: Set<Int> = []
    /// The positions behind which no more items follow, as full pages behind page one state. A result window can end
    /// there.
    private var statedByFullPages: Set<Int> = []
    /// The positions behind which answers of this run had no further items, although the requests left room for some.
    private var shown: Set<Int> = []
    /// The position behind the last item that was returned in this run.
    private(set) var furthest = 0
    /// The position behind the last held item, as of the last plan. Items behind a stored result window do not count:
    /// an insert has moved them there, where the origin returns no items.
    private(set) var heldEnd = 0
    /// The positions at which an earlier run has found a loop (R24).
    private(set) var loops: Set<Int> = []
    /// Whether an earlier run has found a loop behind an empty page one. A new page one removes its failure (R24).
    private var hasLoopedFromStart = false
    /// Positions that the exact total counts, and that the origin refused (R24).
    private var refused: Set<Int> = []
    /// The positions that the origin did not find in earlier runs, with the time of the first such answer (R24).
    private var notFoundSince: [Int: Timestamp] = [:]

    /// Restores what the ledger says about positions that the origin did not find in earlier runs, and about a loop
    /// behind an empty page one.
    mutating func restore(_ failures: [LedgerEntry]) {
        hasLoopedFromStart = failures.contains { $0.offset == 0 && $0.failure?.failureClass == .loop }
        for entry in failures where entry.failure?.httpStatus == 404 {
            notFoundSince[entry.offset] = entry.firstFailureAt
        }
    }

    /// Records the list before a plan.
    mutating func observe(_ list: ListOutline) {
        heldEnd = min(list.heldEnd, list.record.resultWindow ?? .max)
        loops = Set(list.ledger.filter { $0.failure?.failureClass == .loop }.map(\.offset))
        if hasLoopedFromStart { loops.insert(0) }
    }

    /// Records what an answer states about the length of the list.
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the requested position. `nil` means page one.
    ///   - size: the number of items of a full page.
    mutating func observe(statementOf page: FetchedPage, at start: Int?, size: Int) {
        if start == nil { counted = page.total.exactCount }
        guard page.hasMore == false else { return }
        stated.insert((start ?? 0) + page.content.count)
        if let start, page.content.count >= size { observe(endByFullPage: start + page.content.count) }
    }

    /// Records that a full page behind page one states that no more items follow it.
    mutating func observe(endByFullPage position: Int) { statedByFullPages.insert(position) }

    /// Whether the origin has stated in this run that the list ends at this position.
    func isStated(_ position: Int) -> Bool { stated.contains(position) }

    /// Whether a full page behind page one has stated in this run that the list ends at this position. If the total
    /// counts more, the end may be that of a result window. Behind a short page, the total is a wrong number (R24).
    func isStatedByFullPage(_ position: Int) -> Bool { statedByFullPages.contains(position) }

    /// Records where an answer to a request by position ended.
    /// - Parameters:
    ///   - page: the answer.
    ///   - range: the requested positions.
    mutating func observe(itemsOf page: FetchedPage, in range: Range<Int>) {
        guard page.content.count < range.count, page.hasMore != true else { return }
        shown.insert(range.lowerBound + page.content.count)
    }

    /// Whether answers show that the list ends at this position, although an exact total counts more (R24): an answer
    /// ended there, although its request left room for more items. False if the total counts over two pages more than
    /// that, or over twice as many items: a result window can end the list there.
    /// - Parameter size: the number of items of a full page.
    func isShown(_ position: Int, total: Int, size: Int) -> Bool {
        shown.contains(position) && total - position <= min(2 * size, position)
    }

    /// Records that items before `position` were returned.
    mutating func observe(itemsBefore position: Int) {
        furthest = max(furthest, position)
        // Items at the suspected end refute it.
        if let end = suspected, end < position { suspected = nil }
    }

    /// Records that a repair explains the whole list. An item that was received behind `end` has moved to an earlier
    /// position since.
    /// - Parameter end: the end of the held items after the repair.
    mutating func repaired(to end: Int) { furthest = min(furthest, end) }

    /// Records a refusal, if the exact total counts the position.
    mutating func observe(refusalOf place: Int, total: ListTotal) {
        if place < total.exactCount ?? 0 { refused.insert(place) }
    }

    /// Whether no item is held or was returned behind a position.
    func isBehindKnown(_ position: Int) -> Bool { max(furthest, heldEnd) <= position }

    /// Whether the origin has refused a position from `end` on that `total` counts.
    func hasRefusal(from end: Int, before total: Int) -> Bool { refused.contains { end <= $0 && $0 < total } }

    /// Whether the first 404 for this position is an hour old, and no item is held behind it. A 404 at an earlier
    /// position behind the held items counts, too.
    func isRefusedForLong(_ place: Int, now: Timestamp) -> Bool {
        place >= heldEnd
            && notFoundSince.contains {
                $0.key <= place && $0.key >= heldEnd && now - $0.value >= .seconds(3_600)
            }
    }
}

extension ListOutline {
    /// The position behind the last held item.
    var heldEnd: Int { coverage.segments.last?.upperBound ?? 0 }
}
