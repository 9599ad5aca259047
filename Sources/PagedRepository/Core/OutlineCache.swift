import PageModel

/// The last outline that the storage returned for the positions around the requested ones. It was read in the
/// transaction that took their leases.
///
/// The outline is good for planning. A commit based on it names its version, its extent, and the compared pages
/// (`CommitPlan.preconditions`). The storage rejects the commit when another writer has changed one of them (R4, R5,
/// R21). An answer is not dropped because of this outline alone, but only after a new read.
struct OutlineCache: Equatable {
    /// The positions that were read.
    var range: Range<Int>
    var list: ListOutline

    /// Returns the outline if it covers `range` completely. Returns nil otherwise.
    func list(at range: Range<Int>) -> ListOutline? {
        self.range.lowerBound <= range.lowerBound && range.upperBound <= self.range.upperBound ? list : nil
    }

    /// Adds a page that is about to be stored.
    mutating func put(_ page: PageWrite, _ fingerprint: UInt64, at now: Timestamp) {
        let version = list.record.version
        let summary = PageSummary(
            offset: page.offset, count: page.content.count, generation: version.generation, revision: version.revision,
            evidence: page.evidence, evidenceAt: now, fetchedAt: now, validatedAt: now, fingerprint: fingerprint,
            cursorIn: page.cursorIn, cursorOut: page.cursorOut, validator: page.validator)
        list.pages.insert(summary, at: list.pages.firstIndex { $0.offset > page.offset } ?? list.pages.endIndex)
    }

    /// Returns the positions to read together with leases on `targets`. They are all positions that the answers to
    /// `targets`, and to the requests in flight, will be compared with.
    ///
    /// Reading distant targets together would cost more than separate reads. In that case only the positions for
    /// `targets` are returned. Returns nil when these are distant from each other, too, or when no target has such
    /// positions.
    static func around(_ targets: [FetchTarget], with inFlight: Set<FetchTarget>, pageSize: Int) -> Range<Int>? {
        let own = hull(targets, pageSize)
        return [hull(targets + inFlight, pageSize), own].lazy.compactMap { $0 }.first {
            $0.count <= mostPages * pageSize
        }
    }

    /// The number of pages that can be read in the time that one more transaction would take.
    private static let mostPages = 16

    private static func hull(_ targets: [FetchTarget], _ pageSize: Int) -> Range<Int>? {
        let ranges = targets.compactMap { $0.outlineRange(pageSize: pageSize) }
        guard let first = ranges.map(\.lowerBound).min(), let last = ranges.map(\.upperBound).max() else { return nil }
        return first..<last
    }
}

extension FetchTarget {
    /// Returns the positions of the list that an expected answer is compared with. Returns nil for page one, probes and
    /// requests of a sweep, because their answers are not compared in this way.
    func outlineRange(pageSize: Int) -> Range<Int>? {
        switch self {
        case .firstPage, .probe, .sweep: nil
        case .range(let range, let overlap):
            range.lowerBound - overlap..<max(range.upperBound, range.lowerBound - overlap + pageSize)
        case .cursor(_, let offset): offset..<offset + 1
        }
    }
}
