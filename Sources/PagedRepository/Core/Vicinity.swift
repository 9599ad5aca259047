import PageModel

/// What the storage last told of the places around those that are asked for, in the transaction that took their leases.
///
/// Good for planning: whatever is made of it is committed under its version, its extent, and the pages that it was
/// compared with (`CommitPlan.premises`), and refused where somebody has been there since (R4, R5, R21). No reason to
/// give anything up: that takes a new look.
struct Vicinity: Equatable {
    /// What it was asked for.
    var range: Range<Int>
    var list: ListOutline

    /// What is known of `range`; nil when that is not all of it.
    func list(at range: Range<Int>) -> ListOutline? {
        self.range.lowerBound <= range.lowerBound && range.upperBound <= self.range.upperBound ? list : nil
    }

    /// A page is about to be stored there.
    mutating func put(_ page: PageWrite, _ fingerprint: UInt64, at now: Timestamp) {
        let version = list.record.version
        let summary = PageSummary(
            offset: page.offset, count: page.content.count, generation: version.generation, revision: version.revision,
            evidence: page.evidence, evidenceAt: now, fetchedAt: now, validatedAt: now, fingerprint: fingerprint,
            cursorIn: page.cursorIn, cursorOut: page.cursorOut, validator: page.validator)
        list.pages.insert(summary, at: list.pages.firstIndex { $0.offset > page.offset } ?? list.pages.endIndex)
    }

    /// What to ask for with leases on `targets`: what will have to be known of when they, and what is in flight with
    /// them, come. Nil when these lie so far from each other that telling what is between them costs more than looking
    /// at each; `targets` alone where only they are close together.
    static func around(_ targets: [FetchTarget], with inFlight: Set<FetchTarget>, pageSize: Int) -> Range<Int>? {
        let own = hull(targets, pageSize)
        return [hull(targets + inFlight, pageSize), own].lazy.compactMap { $0 }.first {
            $0.count <= mostPages * pageSize
        }
    }

    /// So many pages are read in the time that another transaction takes.
    private static let mostPages = 16

    private static func hull(_ targets: [FetchTarget], _ pageSize: Int) -> Range<Int>? {
        let ranges = targets.compactMap { $0.surroundings(pageSize: pageSize) }
        guard let first = ranges.map(\.lowerBound).min(), let last = ranges.map(\.upperBound).max() else { return nil }
        return first..<last
    }
}

extension FetchTarget {
    /// What is to be known of the list when the answer comes, if it is what was asked for; nil where that is not a
    /// matter of places.
    func surroundings(pageSize: Int) -> Range<Int>? {
        switch self {
        case .head, .probe, .sweep: nil
        case .span(let range, let overlap):
            range.lowerBound - overlap..<max(range.upperBound, range.lowerBound - overlap + pageSize)
        case .follow(_, let offset): offset..<offset + 1
        }
    }
}
