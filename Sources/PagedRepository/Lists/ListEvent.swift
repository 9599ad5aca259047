public import PageModel

/// Something that happened to a list, as it happened. Snapshots say what is; events say what came.
public enum ListEvent<Value: Sendable>: Sendable {
    /// These items came, and stand at these positions.
    case pageLoaded(Range<Int>, [Value])
    /// Items came, went or moved; what lies behind them moved along.
    case refreshed(ListDifference)
    /// Another process changed the list.
    case changedElsewhere
    /// The list was emptied, by `reset` or by a purge.
    case reset
    /// Something could not be had. What is cached stays (R37).
    case failed(ListFailure)
    /// Nothing lies behind what is held. Once for each arrival at the end (R38).
    case endReached
}
