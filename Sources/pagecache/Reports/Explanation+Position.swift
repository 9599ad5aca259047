#if Tool
import PageModel

// The explanation of one position in a list.
extension Explanation {
    mutating func addPosition(_ position: Int) {
        let place = "Position \(SizeText.count(position))"
        if let page = list.pages.first(where: { $0.range.contains(position) }) { return addPage(place, page) }
        if let window = list.record.resultWindow, position >= window, let text = list.record.windowText {
            return add(.holding, "\(place) is not available: \(text).")
        }
        if let reason = list.record.unprovenText, list.isUnproven, let end = list.record.end, position >= end {
            return add(.holding, "\(place) is not held, and the list is unproven: \(reason).")
        }
        if let end = list.record.end ?? list.record.total.exactCount, position >= end {
            return add(.holding, "\(place) does not exist: the list ends at \(SizeText.count(end)).")
        }
        guard list.record.validatedAt != nil || !list.ledger.isEmpty else {
            add(.holding, "The list was never fetched.")
            if list.record.isDescriptionLost { return addLost() }
            return add(.next, "'\(sync)' fetches it.")
        }
        // A ledger entry covers the positions up to the next known offset.
        let gap = gap(around: position)
        let entry = list.ledger.last { $0.offset <= position && $0.offset >= gap.lowerBound }
        if position >= list.length, entry == nil {
            add(
                .holding,
                "\(place) is after all held positions, and the length of the list is not known yet.")
        } else if gap.upperBound == .max {
            add(.holding, "\(place) is missing: nothing is held from \(SizeText.count(gap.lowerBound)) on.")
        } else {
            add(.holding, "\(place) is missing: nothing is held at \(Explanation.positions(gap)).")
        }
        addCause(entry)
    }

    private mutating func addCause(_ entry: LedgerEntry?) {
        if list.record.isDescriptionLost { return addLost() }
        switch entry?.state {
        case .failedRetryable, .failedPermanent:
            if let entry { addFailures([entry]) }
        case .inFlight:
            if let entry { addFetching([entry]) }
        case .pending where entry?.nextAttemptAt != nil:
            add(
                .next,
                """
                The page is queued: the next 'pagecache sync --due', a running service, or '\(sync)' \
                fetches it.
                """)
        case .pending, .ok, nil:
            add(
                .next,
                """
                The position was not requested yet, was evicted, or was dropped when the list moved. '\(sync)' \
                fetches it.
                """)
        }
    }

    private mutating func addPage(_ place: String, _ page: PageSummary) {
        let range = Explanation.positions(page.range)
        add(
            .holding,
            """
            \(place) is stored, in the page at \(range), which was fetched \(TimeText.age(now - page.fetchedAt)) ago, at \
            \(TimeText.rfc3339(page.fetchedAt)).
            """)
        if page.generation < list.record.version.generation {
            add(
                .holding,
                """
                The page is from before the list was replaced, or the origin has to confirm it. The page is readable until \
                a fetched page replaces it.
                """)
        }
        add(.freshness, freshness("it", "The page", page.validatedAt))
        addInvalidated()
        let before = list.pages.first { $0.count > 0 && $0.range.upperBound == page.offset }
        if let before {
            add(.evidence, evidence(page, after: before))
        }
        if !page.innerInferredSeams.isEmpty {
            add(
                .evidence,
                """
                At \(SizeText.count(page.innerInferredSeams.count, "place", "places")) inside the page, no answer has shown yet \
                that two items follow each other.
                """
            )
        }
        addFailures(list.failures.filter { page.range.contains($0.offset) })
        addFetching(list.ledger.filter { $0.state == .inFlight && page.range.contains($0.offset) })
    }

    /// The sentence about the order of two neighbouring pages.
    private func evidence(_ page: PageSummary, after before: PageSummary) -> String {
        if page.evidence == .verified {
            return "An answer of \(TimeText.rfc3339(page.evidenceAt)) showed that the page follows the page before it."
        }
        if page.isReached(from: before) {
            return "The page follows the page before it by the origin's cursor or link; no single answer showed both."
        }
        return """
            No answer has shown yet that the page follows the page before it; this has been assumed since \
            \(TimeText.rfc3339(page.evidenceAt)). '\(sync) --sweep' checks it.
            """
    }

    /// The positions around this one that are not stored. The range ends at `Int.max` when the length of the list is
    /// unknown.
    private func gap(around position: Int) -> Range<Int> {
        let held = Coverage(list.pages.map(\.range))
        let start = held.segments.last { $0.upperBound <= position }?.upperBound ?? 0
        let end =
            held.segments.first { $0.lowerBound > position }?.lowerBound ?? list.record.end ?? list.record.total.count
            ?? .max
        return start..<max(end, position + 1)
    }
}
#endif
