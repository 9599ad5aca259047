public import PageModel

/// A change of a list. Snapshots show the state of a list; events show each change.
public enum ListEvent<Value: Sendable>: Sendable {
    /// These items were loaded at these positions. A page with items that have no value is sent as several events, one
    /// for each stretch of values between those items.
    case pageLoaded(Range<Int>, [Value])
    /// Items were inserted, removed, moved or rewritten. Items after them shift accordingly. After one refresh,
    /// `pageLoaded` and `refreshed` arrive in either order: a copy of the items follows `PagedList.updates`, or is read
    /// from `PagedList.current`.
    case refreshed(ListDifference)
    /// Items at these positions of the shown list do not decode (R7). The event has all such positions. Sent when the
    /// last such event lacked one of them.
    case undecodable([Range<Int>])
    /// Another process changed the list, or too many changes arrived at once for an event each.
    case changedElsewhere
    /// The list was emptied, by `reset` or by a purge.
    case reset
    /// A fetch failed. The cached items stay (R37).
    case failed(ListFailure)
    /// The held items reach the end of the list. Sent once each time the list reaches its end (R38).
    case endReached
}
