/// The freshness of stored data, decided from `validatedAt`, the policy and a time that the caller passes.
public enum Freshness: String, Hashable, Sendable {
    /// Young enough to be served without a request to the origin.
    case fresh
    /// Served while a refresh is due. Invalidated data is stale, too.
    case stale
    /// Served only because nothing newer is available (R15).
    case expired
}

/// The ages at which stored data counts as stale and as expired.
public struct FreshnessPolicy: Hashable, Sendable {
    /// Whether the freshness lifetime that the origin reports for page one counts, and within which bounds (RFC 9111,
    /// 5.2.2.1: `max-age`).
    public enum OriginLifetime: Hashable, Sendable {
        /// The origin's lifetime is ignored: every list becomes stale after `staleAfter`.
        case ignored
        /// The origin's lifetime replaces `staleAfter`, clamped to these bounds. A bound below zero counts as zero. If
        /// `atLeast` exceeds `atMost`, `atMost` applies. Defaults to 0 and 1 hour.
        case taken(atLeast: Duration = .zero, atMost: Duration = .seconds(3_600))
    }

    /// The age at which data becomes stale, if the origin reports no lifetime or its lifetime is ignored; 0 or more.
    /// Defaults to 60 seconds.
    public var staleAfter: Duration
    /// The age at which data expires: it is then served only because nothing newer is available (R15); 0 or more. `nil`
    /// means never. Defaults to `nil`.
    public var expiredAfter: Duration?
    /// Whether the origin's own lifetime replaces `staleAfter`, and within which bounds. Defaults to `taken()`: the
    /// origin's lifetime counts, between 0 and 1 hour.
    public var originLifetime: OriginLifetime

    /// Creates a policy. A `staleAfter` of zero makes data stale at once.
    public init(
        staleAfter: Duration = .seconds(60), expiredAfter: Duration? = nil, originLifetime: OriginLifetime = .taken()
    ) {
        self.staleAfter = staleAfter
        self.expiredAfter = expiredAfter
        self.originLifetime = originLifetime
    }

    /// Returns the age at which a list becomes stale.
    /// - Parameter freshFor: the lifetime that the origin reported with page one, see `QueryRecord.freshFor`; `nil`
    ///   when it reported none.
    public func staleAfter(originSays freshFor: Duration?) -> Duration {
        guard let freshFor, case .taken(let floor, let cap) = originLifetime else { return staleAfter }
        return max(min(max(freshFor, floor), cap), .zero)
    }

    /// Returns the freshness of data that was last validated at `validatedAt`. Data with a `validatedAt` after `now` is
    /// stale. A clock that jumped back thus costs one request, and the data does not stay fresh until the clock has
    /// caught up (R29).
    /// - Parameters:
    ///   - validatedAt: the time when the data was last validated.
    ///   - freshFor: the lifetime that the origin reported; `nil` when it reported none. Defaults to `nil`.
    ///   - isInvalidated: whether the data was invalidated after that time. Defaults to false.
    ///   - now: the current time.
    public func freshness(
        validatedAt: Timestamp, freshFor: Duration? = nil, isInvalidated: Bool = false, now: Timestamp
    ) -> Freshness {
        let age = now - validatedAt
        if let expiredAfter, age >= expiredAfter { return .expired }
        return isInvalidated || age >= staleAfter(originSays: freshFor) || age < .zero ? .stale : .fresh
    }

    /// Returns the freshness of a list; `nil` before the first answer (R11).
    public func freshness(of list: QueryRecord, now: Timestamp) -> Freshness? {
        list.validatedAt.map { freshness(ofPageValidatedAt: $0, in: list, now: now) }
    }

    /// Returns the freshness of one page of a list, which may be older or newer than page one (R23). No page of an
    /// invalidated list is fresh.
    public func freshness(ofPageValidatedAt validatedAt: Timestamp, in list: QueryRecord, now: Timestamp) -> Freshness {
        freshness(validatedAt: validatedAt, freshFor: list.freshFor, isInvalidated: list.isInvalidated, now: now)
    }
}

extension Duration {
    /// The lifetime in the form that a list's record stores: whole milliseconds, from zero to a year.
    package var keptFreshness: Duration { .milliseconds(min(max(wholeMilliseconds, 0), Duration.longestFreshness)) }

    /// The longest stored lifetime in milliseconds: a year of 365 days.
    package static var longestFreshness: Int64 { 365 * 86_400_000 }
}
