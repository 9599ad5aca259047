/// Something that happens at a simulated origin: its list changes before a request is answered, or that one request
/// goes wrong.
public struct OriginEvent: Hashable, Sendable {
    /// What happens.
    public enum Happening: Hashable, Sendable {
        /// The list becomes another, before the request is answered.
        case change(OriginChange)
        /// The request goes wrong.
        case fault(OriginFault)
    }

    /// The number of the request, from 1. What is due at a number that was never reached does not happen.
    public var request: Int
    /// What happens at that request.
    public var happening: Happening

    /// An event; `before` and `on` say it in words.
    public init(request: Int, _ happening: Happening) {
        self.request = request
        self.happening = happening
    }

    /// The list changes before this request is answered.
    public static func before(_ request: Int, _ change: OriginChange) -> OriginEvent {
        OriginEvent(request: request, .change(change))
    }

    /// This request, and no other, goes wrong. Of several faults at one request the first counts.
    public static func on(_ request: Int, _ fault: OriginFault) -> OriginEvent {
        OriginEvent(request: request, .fault(fault))
    }
}

/// A change to a simulated list. Places are fractions of the list as it is then, and counts are cut to what is there,
/// so that every change is possible in every list.
public enum OriginChange: Hashable, Sendable {
    /// New items, side by side, at one of the places between the items, the one before the first and the one behind the
    /// last included.
    case insert(at: OriginPlace, count: Int)
    /// This item and those behind it, `count` in all, are gone.
    case delete(at: OriginPlace, count: Int)
    /// One item leaves its place, and stands at another.
    case move(from: OriginPlace, to: OriginPlace)
    /// One item says something else than before; it keeps its id and its place.
    case edit(at: OriginPlace)
    /// The same items in another order.
    case resort(seed: UInt64)
    /// All items are gone, and others are there.
    case replaceAll(count: Int)
    /// New items behind the last.
    case append(count: Int)
    /// This item and those behind it, `count` in all, are left out of answers from now on. They keep their places, and
    /// pages are cut as if they were there.
    case hide(at: OriginPlace, count: Int)
}

/// What can go wrong with one request.
public enum OriginFault: Hashable, Sendable {
    /// The origin is not heard.
    case transport
    /// Nothing comes in time.
    case timeout
    /// 429, with the time to keep away.
    case tooManyRequests(retryAfter: Duration)
    /// 500.
    case internalError
    /// 503.
    case unavailable
    /// `{"items":[],"total":0}`: the answer of an origin in a bad minute. It looks like an empty list.
    case emptyAnswer
    /// The same, for this request and every other until so much time has passed on the origin's clock; without a clock,
    /// for this request alone.
    case emptyAnswers(for: Duration)
    /// Half of the items (rounded up) that belong into the answer, and a live next behind them. A position, a sort key
    /// or an offset goes on behind what was given; a page number does not, and the other half is skipped.
    case shortPage
    /// The first item of the answer comes a second time, as its last.
    case twice
    /// What a page handed over is not taken any more, with this status (410, 400). Only cursors expire: any other
    /// request is answered as if nothing were wrong.
    case cursorExpired(status: Int)
}

/// A place in a list, as a fraction of its length: it stays a place when the list is shorter than it was.
public struct OriginPlace: Hashable, Sendable {
    /// In units of 1/65,536 of the list: 0 is the first place, 65,535 the last.
    public var fraction: UInt16

    /// The place at this fraction of the list, in units of 1/65,536.
    public init(fraction: UInt16) { self.fraction = fraction }

    /// The first place.
    public static let start = OriginPlace(fraction: 0)
    /// The place in the middle.
    public static let middle = OriginPlace(fraction: 1 << 15)
    /// The last place.
    public static let end = OriginPlace(fraction: .max)

    /// The place with this 0-based number among `count` places. A list of n items has n places that hold an item, and
    /// n + 1 where items can be inserted. Exact in lists of up to 65,536 places.
    public static func number(_ number: Int, of count: Int) -> OriginPlace {
        let (whole, rest) = (number << 16).quotientAndRemainder(dividingBy: max(count, 1))
        return OriginPlace(fraction: UInt16(clamping: rest == 0 ? whole : whole + 1))
    }

    /// Which of `count` places it is; 0 when there are none.
    public func number(of count: Int) -> Int { (Int(fraction) * count) >> 16 }
}
