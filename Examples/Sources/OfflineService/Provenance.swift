import Hummingbird
import PageModel
import PagedRepository

/// Where an answer comes from and how old it is, for HTTP: `Age` (RFC 9111, 5.1) and `Cache-Status` (RFC 9211).
struct Provenance {
    /// Of an answer that has nothing to give yet, and for which nobody is asked.
    static let nothing: HTTPFields = [
        .retryAfter: "1", .init("Cache-Status")!: "OfflineService; detail=nothing-cached",
    ]

    /// Time since the upstream confirmed page one.
    let age: Duration
    /// For how long it counts as fresh.
    let lifetime: Duration
    let freshness: Freshness

    /// Nil while the upstream has never answered (R11).
    init?<Value>(_ window: ItemWindow<Value>, _ policy: FreshnessPolicy, now: Timestamp) {
        guard let validatedAt = window.validatedAt, let freshness = window.freshness else { return nil }
        // A clock that was set back makes nothing younger than new.
        age = max(now - validatedAt, .zero)
        lifetime = policy.staleAfter(originSays: window.freshFor)
        self.freshness = freshness
    }

    /// `ttl` is what is left of the lifetime; below zero, the answer is stale (RFC 9211, 2.4). `detail` says the same
    /// in a word.
    var headers: HTTPFields {
        let left = lifetime.components.seconds - age.components.seconds
        return [
            .age: "\(age.components.seconds)",
            .init("Cache-Status")!: "OfflineService; hit; ttl=\(left); detail=\(freshness.rawValue)",
        ]
    }
}
