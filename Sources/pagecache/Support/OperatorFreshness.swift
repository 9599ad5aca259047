#if Tool
import PageModel

extension FreshnessPolicy {
    /// By what the tool judges how old a list is. An age that somebody gives (`--stale-after`) is the operator's word,
    /// and holds whatever the origin says; without one the defaults hold, in which the origin's own word counts.
    init(operatorSays age: DurationArgument?) {
        self = age.map { FreshnessPolicy(staleAfter: $0.duration, originWord: .ignored) } ?? FreshnessPolicy()
    }

    /// The age at which this list goes stale.
    func staleAfter(_ list: QueryRecord) -> Duration { staleAfter(originSays: list.freshFor) }
}

extension ListOutline {
    /// How old the list is, in a few words: `fresh (5 s)`. Where it is stale because somebody said so, its age would
    /// only puzzle.
    func freshnessText(_ policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) -> String {
        guard let freshness = freshness(policy, now: now), let validatedAt = record.validatedAt else {
            return "never fetched"
        }
        return "\(freshness.rawValue) (\(record.isInvalidated ? "invalidated" : TimeText.age(now - validatedAt)))"
    }
}
#endif
