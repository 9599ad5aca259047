#if Tool
import PageModel

extension FreshnessPolicy {
    /// The policy by which the tool judges the age of a list. `--stale-after` overrides the origin's `max-age`. Without
    /// the option the defaults apply, which follow `max-age` up to an hour.
    init(operatorSays age: DurationArgument?) {
        self = age.map { FreshnessPolicy(staleAfter: $0.duration, originLifetime: .ignored) } ?? FreshnessPolicy()
    }

    /// The age at which this list becomes stale.
    func staleAfter(_ list: QueryRecord) -> Duration { staleAfter(originSays: list.freshFor) }
}

extension ListOutline {
    /// Whether the origin has items and the store holds none of them: all were evicted, or dropped by a repair.
    var holdsNothing: Bool {
        record.validatedAt != nil && record.end ?? record.total.count ?? 0 > 0 && coverage.segments.isEmpty
    }

    /// The time at which the held page that was validated longest ago was validated. `nil` when no page is held.
    var oldestCheckAt: Timestamp? { heldPages.map(\.validatedAt).min() }

    /// The freshness as the tool reports it. A list that holds none of its items counts as stale, because only its
    /// total is fresh. Returns nil for a list that was never fetched.
    func judgedFreshness(_ policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) -> Freshness? {
        let freshness = freshness(policy, now: now)
        return freshness == .fresh && holdsNothing ? .stale : freshness
    }

    /// The freshness of the list in a few words: `fresh (5 s)`. A list that was invalidated, or that holds none of its
    /// items, is stale at any age, so its age is not shown.
    func freshnessText(_ policy: FreshnessPolicy = FreshnessPolicy(), now: Timestamp) -> String {
        guard let freshness = judgedFreshness(policy, now: now), let validatedAt = record.validatedAt else {
            return "never fetched"
        }
        let reason =
            record.isInvalidated ? "invalidated" : holdsNothing ? "nothing held" : TimeText.age(now - validatedAt)
        return "\(freshness.rawValue) (\(reason))"
    }
}
#endif
