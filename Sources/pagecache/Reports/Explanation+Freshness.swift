#if Tool
import PageModel

// How old it is, and who says for how long that is good.
extension Explanation {
    /// - Parameters:
    ///   - what: what was confirmed, in the middle of a sentence.
    ///   - subject: what is fresh or stale, at its beginning.
    func freshness(_ what: String, _ subject: String, _ validatedAt: Timestamp) -> String {
        guard validatedAt <= now else {
            return """
                \(subject) counts as stale: \(what) was confirmed in the future, at \(TimeText.rfc3339(validatedAt)); a \
                clock was set back.
                """
        }
        let age = TimeText.age(now - validatedAt)
        return switch policy.freshness(ofPageValidatedAt: validatedAt, in: list.record, now: now) {
        case .fresh: "\(subject) is fresh: \(what) was confirmed \(age) ago, and \(limit)."
        case .stale:
            """
            \(subject) is stale: \(what) was last confirmed \(age) ago, at \(TimeText.rfc3339(validatedAt)), and \
            \(list.record.isInvalidated ? "that counts no longer" : limit).
            """
        case .expired:
            "\(subject) has expired: \(what) was last confirmed \(age) ago, at \(TimeText.rfc3339(validatedAt))."
        }
    }

    /// For how long it counts as fresh, and who says so.
    private var limit: String {
        let counted = TimeText.age(policy.staleAfter(list.record))
        guard let said = list.record.freshFor else { return "it counts as fresh for \(counted)" }
        let word = said == .zero ? "no time at all" : TimeText.age(said)
        guard policy.originWord != .ignored else {
            return "it counts as fresh for \(counted), as was asked, whatever the origin says (\(word))"
        }
        let rest = policy.staleAfter(list.record) == said ? "" : ", of which \(counted) is taken"
        return "the origin calls it fresh for \(word)\(rest)"
    }

    /// Whatever its age: somebody knows better.
    mutating func tellInvalidated() {
        guard let moment = list.record.invalidatedAt else { return }
        say(
            .freshness,
            """
            A program that uses the store said \(TimeText.age(now - moment)) ago, at \(TimeText.rfc3339(moment)), that the list \
            is not right any more: nothing of it counts as fresh until page one has been fetched again.
            """)
    }

    /// R23: a page one that explains everything says nothing of edits in place farther down.
    mutating func tellOldestPage(besides validatedAt: Timestamp) {
        guard let oldest = list.heldPages.min(by: { $0.validatedAt < $1.validatedAt }),
            // Where the origin calls nothing fresh, what has just been had is not old all the same.
            validatedAt - oldest.validatedAt >= max(policy.staleAfter(list.record), .seconds(60))
        else { return }
        say(
            .freshness,
            """
            The oldest page, at position \(SizeText.count(oldest.offset)), was last confirmed \
            \(TimeText.age(now - oldest.validatedAt)) ago: what was edited in place since is not seen before 'pagecache \
            sync \(id) --sweep'.
            """)
    }
}
#endif
