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
    /// The mismatch at the end of the pass before; see `PassConclusion`.
    var overcount: Overcount?
    /// The result window that this run has opened, to see whether it still cuts the list off.
    var openedWindow: Int?
    /// The end that an empty page behind it has proven in this run.
    var proven: Int?
    /// The exact total in the last page one of this run, as the origin stated it. `nil` without such an answer, and with
    /// an estimated total.
    private(set) var counted: Int?
    /// The positions behind which no more items follow, as answers of this run state.
    private var stated: Set<Int> = []
    /// The position behind the last item that was returned in this run.
    private(set) var furthest = 0
    /// The position behind the last held item, as of the last plan. Items behind a stored result window do not count: an
    /// insert has moved them there, and the origin does not return them there.
    private(set) var heldEnd = 0
    /// The positions at which an earlier run has found a loop (R24).
    private(set) var loops: Set<Int> = []
    /// Positions that the exact total counts, and that the origin refused (R24).
    private var refused: Set<Int> = []
    /// The positions that the origin did not find in earlier runs, with the time of the first such answer (R24).
    private var notFoundSince: [Int: Timestamp] = [:]

    /// Restores what the ledger says about positions that the origin did not find in earlier runs.
    mutating func restore(_ failures: [LedgerEntry]) {
        for entry in failures where entry.failure?.httpStatus == 404 {
            notFoundSince[entry.offset] = entry.firstFailureAt
        }
    }

    /// Records the list before a plan.
    mutating func observe(_ list: ListOutline) {
        heldEnd = min(list.heldEnd, list.record.resultWindow ?? .max)
        loops = Set(list.ledger.filter { $0.failure?.failureClass == .loop }.map(\.offset))
    }

    /// Records what an answer states about the length of the list.
    /// - Parameter start: the requested position. `nil` means page one.
    mutating func observe(statementOf page: FetchedPage, at start: Int?) {
        if start == nil { counted = page.total.exactCount }
        if page.hasMore == false { stated.insert((start ?? 0) + page.content.count) }
    }

    /// Whether the origin has stated in this run that the list ends at this position.
    func isStated(_ position: Int) -> Bool { stated.contains(position) }

    /// Records that items before `position` were returned.
    mutating func observe(itemsBefore position: Int) { furthest = max(furthest, position) }

    /// Records a refusal, if the exact total counts the position.
    mutating func observe(refusalOf place: Int, total: ListTotal) {
        if place < total.exactCount ?? 0 { refused.insert(place) }
    }

    /// Whether no item is held or was returned behind a position.
    func isBehindKnown(_ position: Int) -> Bool { max(furthest, heldEnd) <= position }

    /// Whether the origin has refused a position from `end` on that `total` counts.
    func hasRefusal(from end: Int, before total: Int) -> Bool { refused.contains { end <= $0 && $0 < total } }

    /// Whether the origin has not found a position for an hour, and no item is held behind it. The positions behind it
    /// share its answer.
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
