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
    /// The mismatch at the end of the pass before; see `ListSettlement`.
    var overcount: Overcount?
    /// The end that an empty page behind it has proven in this run.
    var proven: Int?
    /// The position behind the last item that was returned in this run.
    private(set) var furthest = 0
    /// The position behind the last held item, as of the last plan.
    private(set) var heldEnd = 0
    /// The positions at which an earlier run has found a loop (R24).
    private(set) var loops: Set<Int> = []
    /// Positions that the exact total counts, and that the origin refused (R24).
    private var refused: Set<Int> = []
    /// The pages that were returned by position since page one has moved: the lowest and the highest requested
    /// position, by fingerprint.
    private var pages: [UInt64: ClosedRange<Int>] = [:]
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
        heldEnd = list.heldEnd
        loops = Set(list.ledger.filter { $0.failure?.failureClass == .loop }.map(\.offset))
    }

    /// Records that items before `position` were returned.
    mutating func observe(itemsBefore position: Int) { furthest = max(furthest, position) }

    /// Records a refusal, if the exact total counts the position.
    mutating func observe(refusalOf place: Int, total: ListTotal) {
        if place < total.exactCount ?? 0 { refused.insert(place) }
    }

    /// Records a page that was returned for a position.
    mutating func observe(_ page: FetchedPage, at start: Int) {
        guard page.content.count > 1 else { return }
        let fingerprint = PageContent.fingerprint(of: page.content.identities)
        let known = pages[fingerprint] ?? start...start
        pages[fingerprint] = min(start, known.lowerBound)...max(start, known.upperBound)
    }

    /// Returns the lowest position for which the same items were returned. Returns nil unless they were returned for
    /// several positions.
    func lowestPlace(ofRepeated page: FetchedPage) -> Int? {
        guard !pages.isEmpty, let places = pages[PageContent.fingerprint(of: page.content.identities)] else {
            return nil
        }
        return places.lowerBound < places.upperBound ? places.lowerBound : nil
    }

    /// Page one has moved, so earlier answers say nothing about the end of the list as it is now.
    mutating func forgetPages() { (pages, suspected) = ([:], nil) }

    /// Other items were returned behind a position, so the origin did not refuse it.
    mutating func withdraw(refusalOf place: Int) {
        refused.remove(place)
        forgetPages()
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
