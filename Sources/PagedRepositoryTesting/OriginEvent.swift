/// An event at a simulated origin: a change of the list before a request is answered, or a fault of one request.
public struct OriginEvent: Hashable, Sendable {
    /// The kind of the event.
    public enum Kind: Hashable, Sendable {
        /// The list changes before the request is answered.
        case change(OriginChange)
        /// The request fails or gets a faulty answer.
        case fault(OriginFault)
    }

    /// The number of the request, from 1. An event at a number that is never reached does not happen.
    public var request: Int
    /// The change or the fault at that request.
    public var kind: Kind

    /// An event of this kind at a request. `before(_:_:)` and `on(_:_:)` are shorter forms.
    public init(request: Int, _ kind: Kind) {
        self.request = request
        self.kind = kind
    }

    /// A change of the list before this request is answered.
    public static func before(_ request: Int, _ change: OriginChange) -> OriginEvent {
        OriginEvent(request: request, .change(change))
    }

    /// A fault at this request alone. Of several faults at one request, the first counts.
    public static func on(_ request: Int, _ fault: OriginFault) -> OriginEvent {
        OriginEvent(request: request, .fault(fault))
    }
}

/// A change to a simulated list. Places are fractions of the list at that time, and counts are limited to the items
/// that exist. Every change is therefore possible in every list.
public enum OriginChange: Hashable, Sendable {
    /// Inserts new items side by side: between two items, before the first item or after the last one.
    case insert(at: OriginPlace, count: Int)
    /// Deletes this item and the items after it, `count` in all.
    case delete(at: OriginPlace, count: Int)
    /// Moves one item to another place.
    case move(from: OriginPlace, to: OriginPlace)
    /// Changes the content of one item, which keeps its id and its place.
    case edit(at: OriginPlace)
    /// Puts the same items into another order.
    case resort(seed: UInt64)
    /// Replaces all items by new ones.
    case replaceAll(count: Int)
    /// Appends new items after the last item.
    case append(count: Int)
    /// Leaves this item and the items after it, `count` in all, out of answers from now on. The items keep their
    /// places, and pages are cut as if they were visible.
    case hide(at: OriginPlace, count: Int)
}

/// A fault of one request.
public enum OriginFault: Hashable, Sendable {
    /// The origin is unreachable.
    case transport
    /// No answer arrives in time.
    case timeout
    /// Status 429 with this `Retry-After`.
    case tooManyRequests(retryAfter: Duration)
    /// Status 500.
    case internalError
    /// Status 503.
    case unavailable
    /// The answer `{"items":[],"total":0}`, which a failing origin may send. The answer looks like that of an empty
    /// list.
    case emptyAnswer
    /// The empty answer for this request, and for all further requests until this time has passed on the origin's
    /// clock. Without a clock, only this request gets the empty answer.
    case emptyAnswers(for: Duration)
    /// Only the first half of the items of the answer (rounded up). A cursor with a position or a sort key, and an
    /// offset, continue after the returned items. The next page number does not, so the other half is skipped.
    case shortPage
    /// The first item of the answer is repeated as its last.
    case repeatedFirstItem
    /// The cursor of the request is rejected with this status (410, 400). Only cursors expire: a request without a
    /// cursor gets a normal answer.
    case cursorExpired(status: Int)
}

/// A place in a list, as a fraction of the length of the list. The place stays valid when the list becomes shorter.
public struct OriginPlace: Hashable, Sendable {
    /// The fraction in units of 1/65,536 of the list: 0 is the first place, 65,535 the last.
    public var fraction: UInt16

    /// The place at this fraction of the list, in units of 1/65,536.
    public init(fraction: UInt16) { self.fraction = fraction }

    /// The first place.
    public static let start = OriginPlace(fraction: 0)
    /// The place in the middle.
    public static let middle = OriginPlace(fraction: 1 << 15)
    /// The last place.
    public static let end = OriginPlace(fraction: .max)

    /// Returns the place with the 0-based index `number` among `count` places. A list of n items has n places that hold
    /// an item, and n + 1 places for insertions. The result is exact in lists of up to 65,536 places.
    public static func number(_ number: Int, of count: Int) -> OriginPlace {
        let (whole, rest) = (number << 16).quotientAndRemainder(dividingBy: max(count, 1))
        return OriginPlace(fraction: UInt16(clamping: rest == 0 ? whole : whole + 1))
    }

    /// Returns the index of this place among `count` places, from 0 on. Returns 0 when `count` is 0.
    public func number(of count: Int) -> Int { (Int(fraction) * count) >> 16 }
}
