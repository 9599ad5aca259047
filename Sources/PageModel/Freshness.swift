/// How old something may be, decided from `validatedAt`, the policy and a clock that is passed in.
public enum Freshness: String, Hashable, Sendable {
    /// Young enough to be served without a look at the origin.
    case fresh
    /// Wants a refresh, and is served meanwhile; so is what was invalidated.
    case stale
    /// Served only because there is nothing better (R15).
    case expired
}

/// When stored data counts as stale and as expired.
public struct FreshnessPolicy: Hashable, Sendable {
    /// What the origin's own word counts for: for how long it calls page one fresh (RFC 9111, 5.2.2.1: `max-age`).
    public enum OriginWord: Hashable, Sendable {
        /// Nothing: every list goes stale after `staleAfter`.
        case ignored
        /// It stands in for `staleAfter`, kept within these bounds. A bound below zero is zero; where the two cross,
        /// `atMost` holds. Defaults: 0 and 1 hour.
        case taken(atLeast: Duration = .zero, atMost: Duration = .seconds(3_600))
    }

    /// Age at which a page wants a refresh, where the origin does not say, or is not listened to. 0…. Default: 60
    /// seconds.
    public var staleAfter: Duration
    /// Age at which a page is served only because there is nothing better (R15); nil means never. 0….
    /// Default: nil.
    public var expiredAfter: Duration?
    /// What the origin's own word counts for. Default: it is taken, up to 1 hour.
    public var originWord: OriginWord

    /// A policy; each parameter is the property of its name. A `staleAfter` of zero makes everything stale at once.
    public init(staleAfter: Duration = .seconds(60), expiredAfter: Duration? = nil, originWord: OriginWord = .taken()) {
        self.staleAfter = staleAfter
        self.expiredAfter = expiredAfter
        self.originWord = originWord
    }

    /// The age at which a list goes stale.
    /// - Parameter freshFor: what the origin said with page one, see `QueryRecord.freshFor`; nil when it did not say.
    public func staleAfter(originSays freshFor: Duration?) -> Duration {
        guard let freshFor, case .taken(let floor, let cap) = originWord else { return staleAfter }
        return max(min(max(freshFor, floor), cap), .zero)
    }

    /// The freshness of data that was confirmed at `validatedAt`. Data from the future (a clock that jumped back)
    /// is stale, so that a wrong clock costs one request and not a frozen page (R29).
    /// - Parameters:
    ///   - validatedAt: when the origin last confirmed it.
    ///   - freshFor: for how long the origin called it fresh; nil when it did not say. Default: nil.
    ///   - isInvalidated: whether somebody has said since that it is not right any more. Default: false.
    ///   - now: the moment.
    public func freshness(
        validatedAt: Timestamp, freshFor: Duration? = nil, isInvalidated: Bool = false, now: Timestamp
    ) -> Freshness {
        let age = now - validatedAt
        if let expiredAfter, age >= expiredAfter { return .expired }
        return isInvalidated || age >= staleAfter(originSays: freshFor) || age < .zero ? .stale : .fresh
    }

    /// The freshness of a list; nil before the first answer (R11).
    public func freshness(of list: QueryRecord, now: Timestamp) -> Freshness? {
        list.validatedAt.map { freshness(ofPageValidatedAt: $0, in: list, now: now) }
    }

    /// The freshness of one page of a list, which may be older or newer than page one (R23). Nothing of an invalidated
    /// list is fresh.
    public func freshness(ofPageValidatedAt validatedAt: Timestamp, in list: QueryRecord, now: Timestamp) -> Freshness {
        freshness(validatedAt: validatedAt, freshFor: list.freshFor, isInvalidated: list.isInvalidated, now: now)
    }
}

extension Duration {
    /// As a list's record keeps what an origin says of freshness: whole milliseconds, from zero to a year.
    package var keptFreshness: Duration { .milliseconds(min(max(wholeMilliseconds, 0), Duration.longestFreshness)) }

    /// A year, in milliseconds.
    package static var longestFreshness: Int64 { 365 * 86_400_000 }
}
