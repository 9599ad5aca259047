import Hummingbird
import PagedRepository

/// The headers that tell a client about the cache: `Age` (RFC 9111, 5.1) and `Cache-Status` (RFC 9211).
struct Provenance {
    /// The headers of an answer before the first items are cached.
    static let nothing: HTTPFields = [
        .retryAfter: "1", .init("Cache-Status")!: "OfflineService; detail=nothing-cached",
    ]

    /// The time since the upstream confirmed page one.
    let age: Duration
    /// The time for which the list counts as fresh after that confirmation.
    let lifetime: Duration
    let freshness: Freshness

    /// Returns nil if the upstream has never answered (R11).
    init?<Value>(_ window: ItemWindow<Value>, _ policy: FreshnessPolicy, now: Timestamp) {
        guard let validatedAt = window.validatedAt, let freshness = window.freshness else { return nil }
        // A clock that was set back must not make the age negative.
        age = max(now - validatedAt, .zero)
        lifetime = policy.staleAfter(originSays: window.freshFor)
        self.freshness = freshness
    }

    /// `ttl` is the rest of the lifetime in seconds. A negative `ttl` means that the list is stale (RFC 9211, 2.4).
    /// `detail` is the state: `fresh`, `stale` or `expired`.
    var headers: HTTPFields {
        let left = lifetime.components.seconds - age.components.seconds
        return [
            .age: "\(age.components.seconds)",
            .init("Cache-Status")!: "OfflineService; hit; ttl=\(left); detail=\(freshness.rawValue)",
        ]
    }
}
