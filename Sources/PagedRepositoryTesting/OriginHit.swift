/// What really happened at a simulated origin, in one word each: a test over many seeds sees by them that it has seen
/// everything.
enum OriginHit: String, CaseIterable, Sendable {
    // The list changed: a deletion from an empty list, say, is none.
    case insert, delete, move, edit, resort, replaceAll, append

    // A request went wrong.
    case transport = "fault.transport"
    case timeout = "fault.timeout"
    case tooManyRequests = "fault.429"
    case internalError = "fault.500"
    case unavailable = "fault.503"
    case cursorExpired, emptyAnswer, emptyMinute, shortPage
    /// The other half of a short page was passed over: the next page number is behind it.
    case shortPageSkipped = "shortPage.skipped"

    case notModified = "304"
    /// "Not modified", and the total told is another than when the tag was given.
    case notModifiedTotalChanged = "304.totalChanged"
    /// A validator came with the right request, and is out of date.
    case validatorOutdated = "validator.outdated"
    /// A validator came with a request that it does not belong to, and was ignored.
    case validatorForeign = "validator.foreign"

    /// More items were asked for than the largest page has.
    case clamped
    /// A size was asked for that pages with numbers do not have.
    case sizeIgnored
    /// "Nothing there" beyond the end.
    case pastEnd
    /// An empty page beyond the end.
    case pastEndEmpty = "pastEnd.empty"
    /// A walk by sort key went on behind an item that is gone, or has moved.
    case keyGone = "keyset.afterGone"
    case cursorUnknown
    /// One answer gave an id twice.
    case idTwice

    // A total was told that is not the truth.
    case lag, capped, estimated, noTotal, zero, tooLow, tooHigh
}

extension OriginChange {
    var hit: OriginHit {
        switch self {
        case .insert: .insert
        // Seen from outside it is one.
        case .delete, .hide: .delete
        case .move: .move
        case .edit: .edit
        case .resort: .resort
        case .replaceAll: .replaceAll
        case .append: .append
        }
    }
}
