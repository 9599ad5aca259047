/// How old something may be, decided from `validatedAt`, the policy and a clock that is passed in.
public enum Freshness: String, Hashable, Sendable {
    case fresh, stale, expired
}

/// When stored data counts as stale and as expired.
public struct FreshnessPolicy: Hashable, Sendable {
    /// Age at which a page wants a refresh. Default: 60 seconds.
    public var staleAfter: Duration
    /// Age at which a page is served only because there is nothing better (R15); nil means never. Default: nil.
    public var expiredAfter: Duration?

    public init(staleAfter: Duration = .seconds(60), expiredAfter: Duration? = nil) {
        self.staleAfter = staleAfter
        self.expiredAfter = expiredAfter
    }

    /// The freshness of data that was confirmed at `validatedAt`. Data from the future (a clock that jumped back)
    /// is stale, so that a wrong clock costs one request and not a frozen page (R29).
    public func freshness(validatedAt: Timestamp, now: Timestamp) -> Freshness {
        let age = now - validatedAt
        if let expiredAfter, age >= expiredAfter { return .expired }
        return age >= staleAfter || age < .zero ? .stale : .fresh
    }
}
