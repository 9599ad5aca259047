import PageModel

/// The facts about the end of the list that the passes of a run have shown (R20, R24).
struct EndBelief: Equatable {
    /// A total that is larger than the number of returned items. It counts as wrong once a second page one repeats it.
    struct Overcount: Equatable {
        var reached: Int
        var total: Int
    }

    /// The position at which the last pass found no items, although the total is larger. The next pass checks this
    /// position with one request.
    var suspected: Int?
    /// The smaller total that a later page of the chain stated, and that made the run request page one again. `nil`
    /// once page one has confirmed or refuted it.
    var shrunkTo: Int?
    /// The mismatch at the end of the previous pass; see `PassConclusion`.
    var overcount: Overcount?
    /// The result window that this run has removed from the record, to check whether it still cuts off the list.
    var openedWindow: Int?
    /// The end of the list that an empty page after it has proven in this run.
    var proven: Int?
    /// The exact total in the last page one of this run, as the origin stated it. `nil` if there was no such answer, or
    /// if its total was not exact.
    private(set) var counted: Int?
    /// The positions after the last items of answers that stated that no more items follow.
    private var stated: Set<Int> = []
    /// The positions after full pages, other than page one, that stated that no more items follow. A result window can
    /// end there.
    private var statedByFullPages: Set<Int> = []
    /// The positions at which answers of this run ended, although their requests left room for more items.
    private var shown: Set<Int> = []
    /// The position after the last item that was returned in this run.
    private(set) var furthest = 0
    /// The position after the last held item, as of the last plan. Items after a stored result window do not count: an
    /// insert has moved them there, and the origin returns no items there.
    private(set) var heldEnd = 0
    /// The positions at which an earlier run has found a loop (R24).
    private(set) var loops: Set<Int> = []
    /// Whether an earlier run has found a loop after an empty page one. The failure in the ledger is removed by a new
    /// page one, so this property keeps the fact (R24).
    private var hasLoopedFromStart = false
    /// Positions that the exact total counts, and that the origin refused (R24).
    private var refused: Set<Int> = []
    /// The positions that the origin did not find in earlier runs, with the time of the first such answer (R24).
    private var notFoundSince: [Int: Timestamp] = [:]

    /// Restores from the ledger the positions that the origin did not find in earlier runs, and a loop after an empty
    /// page one.
    mutating func restore(_ failures: [LedgerEntry]) {
        hasLoopedFromStart = failures.contains { $0.offset == 0 && $0.failure?.failureClass == .loop }
        for entry in failures where entry.failure?.httpStatus == 404 {
            notFoundSince[entry.offset] = entry.firstFailureAt
        }
    }

    /// Records the list on which the next plan is based.
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

    /// Records that a full page other than page one states that no more items follow it.
    mutating func observe(endByFullPage position: Int) { statedByFullPages.insert(position) }

    /// Whether the origin has stated in this run that the list ends at this position.
    func isStated(_ position: Int) -> Bool { stated.contains(position) }

    /// Whether a full page other than page one has stated in this run that the list ends at this position. If the total
    /// counts more, the list may be cut off there by a result window. After a short page, the total would be wrong
    /// instead (R24).
    func isStatedByFullPage(_ position: Int) -> Bool { statedByFullPages.contains(position) }

    /// Records where an answer to a request by position ended.
    /// - Parameters:
    ///   - page: the answer.
    ///   - range: the requested positions.
    mutating func observe(itemsOf page: FetchedPage, in range: Range<Int>) {
        guard page.content.count < range.count, page.hasMore != true else { return }
        shown.insert(range.lowerBound + page.content.count)
    }

    /// Whether answers show that the list ends at this position, although an exact total counts more (R24). An answer
    /// must have ended there although its request left room for more items. Returns false if the total counts more than
    /// two pages beyond the position, or more than twice as many items. A result window can then end the list there.
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

    /// Records that a repair explains the whole list. Any item that was received after `end` has moved to an earlier
    /// position since then.
    /// - Parameter end: the end of the held items after the repair.
    mutating func repaired(to end: Int) { furthest = min(furthest, end) }

    /// Records a refusal, if the exact total counts the refused position.
    mutating func observe(refusalOf place: Int, total: ListTotal) {
        if place < total.exactCount ?? 0 { refused.insert(place) }
    }

    /// Whether no item is held at this position or after it, and none was returned there.
    func isBehindKnown(_ position: Int) -> Bool { max(furthest, heldEnd) <= position }

    /// Whether the origin has refused a position from `end` on that `total` counts.
    func hasRefusal(from end: Int, before total: Int) -> Bool { refused.contains { end <= $0 && $0 < total } }

    /// Whether the first 404 for this position is at least an hour old, and no item is held at the position or after
    /// it. A 404 for an earlier position after the held items counts, too.
    func isRefusedForLong(_ place: Int, now: Timestamp) -> Bool {
        place >= heldEnd
            && notFoundSince.contains {
                $0.key <= place && $0.key >= heldEnd && now - $0.value >= .seconds(3_600)
            }
    }
}

extension ListOutline {
    /// The position after the last held item.
    var heldEnd: Int { coverage.segments.last?.upperBound ?? 0 }
}
