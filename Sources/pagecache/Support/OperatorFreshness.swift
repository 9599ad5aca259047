#if Tool
import PageModel

extension FreshnessPolicy {
    /// The policy by which the tool judges the age of a list. `--stale-after` overrides the origin's word. Without it
    /// the defaults apply, which honour the origin's word.
    init(operatorSays age: DurationArgument?) {
        self = age.map { FreshnessPolicy(staleAfter: $0.duration, originWord: .ignored) } ?? FreshnessPolicy()
    }

    /// The age at which this list becomes stale.
    func staleAfter(_ list: QueryRecord) -> Duration { staleAfter(originSays: list.freshFor) }
}

extension ListOutline {
    /// The freshness of the list in a few words: `fresh (5 s)`. An invalidated list is stale at any age, so its age is
    /// not shown.
    func freshnessText(_ policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) -> String {
        guard let freshness = freshness(policy, now: now), let validatedAt = record.validatedAt else {
            return "never fetched"
        }
        return "\(freshness.rawValue) (\(record.isInvalidated ? "invalidated" : TimeText.age(now - validatedAt)))"
    }
}
#endif
