#if Tool
import PageModel

// The age of the list, and the source of the age limit.
extension Explanation {
    /// The sentence about the freshness of the list or of a page.
    /// - Parameters:
    ///   - what: the validated part, for the middle of a sentence.
    ///   - subject: the fresh or stale part, for the beginning of a sentence.
    func freshness(_ what: String, _ subject: String, _ validatedAt: Timestamp) -> String {
        guard validatedAt <= now else {
            return """
                \(subject) counts as stale: \(what) was validated in the future, at \(TimeText.rfc3339(validatedAt)); a \
                clock was set back.
                """
        }
        let age = TimeText.age(now - validatedAt)
        return switch policy.freshness(ofPageValidatedAt: validatedAt, in: list.record, now: now) {
        case .fresh: "\(subject) is fresh: \(what) was validated \(age) ago, and \(limit)."
        case .stale:
            """
            \(subject) is stale: \(what) was last validated \(age) ago, at \(TimeText.rfc3339(validatedAt)), and \
            \(list.record.isInvalidated ? "the list was invalidated after that" : limit).
            """
        case .expired:
            "\(subject) has expired: \(what) was last validated \(age) ago, at \(TimeText.rfc3339(validatedAt))."
        }
    }

    /// The time for which the list counts as fresh, and the source of that limit.
    private var limit: String {
        let counted = TimeText.age(policy.staleAfter(list.record))
        guard let said = list.record.freshFor else { return "it counts as fresh for \(counted)" }
        let word = said == .zero ? "no time at all" : TimeText.age(said)
        guard policy.originLifetime != .ignored else {
            return "it counts as fresh for \(counted), as --stale-after says; the origin says \(word)"
        }
        let rest = policy.staleAfter(list.record) == said ? "" : ", but at most \(counted) counts"
        return "the origin calls it fresh for \(word)\(rest)"
    }

    /// The end of the last sweep, or of the last round of the recheck (R54).
    private var lastAudit: String {
        guard let ended = list.record.lastAuditAt else {
            return "No sweep has finished yet, and syncs have not checked every page again yet."
        }
        return "Every page was last checked again, by a sweep or by syncs, \(TimeText.age(now - ended)) ago."
    }

    /// Reports that a program or a repair has invalidated the list, which makes it stale at any age.
    mutating func addInvalidated() {
        guard let moment = list.record.invalidatedAt else { return }
        let cause =
            list.record.isDescriptionLost
            ? "A repair rebuilt the record of the list, and so invalidated it,"
            : "A program that uses the store invalidated the list"
        add(
            .freshness,
            """
            \(cause) \(TimeText.age(now - moment)) ago, at \(TimeText.rfc3339(moment)). \
            Every position counts as stale until page one has been fetched again.
            """)
    }

    /// Reports the oldest page, if it was validated much earlier than page one. Page one shows no edits in place
    /// farther down (R23).
    mutating func addOldestPage(besides validatedAt: Timestamp) {
        guard let oldest = list.heldPages.min(by: { $0.validatedAt < $1.validatedAt }),
            // When the origin calls nothing fresh, pages fetched within a minute still do not count as old.
            validatedAt - oldest.validatedAt >= max(policy.staleAfter(list.record), .seconds(60))
        else { return }
        add(
            .freshness,
            """
            The oldest page, at position \(SizeText.count(oldest.offset)), was last validated \
            \(TimeText.age(now - oldest.validatedAt)) ago. \(lastAudit) '\(sync) --sweep' finds later edits in \
            place.
            """)
    }
}
#endif
