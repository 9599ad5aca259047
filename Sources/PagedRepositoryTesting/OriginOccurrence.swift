/// Events that really happened at a simulated origin. A test over many seeds uses them to check that every case
/// occurred.
enum OriginOccurrence: String, CaseIterable, Sendable {
    // The list changed. A change without effect does not count, such as a deletion from an empty list.
    case insert, delete, move, edit, resort, replaceAll, append

    // A request failed, or got a faulty answer.
    case transport = "fault.transport"
    case timeout = "fault.timeout"
    case tooManyRequests = "fault.429"
    case internalError = "fault.500"
    case unavailable = "fault.503"
    case cursorExpired, emptyAnswer, emptyMinute, shortPage
    /// The other half of a short page was skipped, because the next page number continues after it.
    case shortPageSkipped = "shortPage.skipped"

    case notModified = "304"
    /// "Not modified" was answered although the total differs from the one reported with the tag.
    case notModifiedTotalChanged = "304.totalChanged"
    /// A validator arrived with the request that it belongs to, and is outdated.
    case validatorOutdated = "validator.outdated"
    /// A validator arrived with a request that it does not belong to, and was ignored.
    case validatorForeign = "validator.foreign"

    /// A request named more items than the largest page has.
    case clamped
    /// A request named a size that numbered pages do not have.
    case sizeIgnored
    /// A request beyond the end was answered with `PageAnswer.pastEnd`.
    case pastEnd
    /// A request beyond the end was answered with an empty page.
    case pastEndEmpty = "pastEnd.empty"
    /// A chain by sort key continued after an item that was deleted or moved.
    case keyGone = "keyset.afterGone"
    case cursorUnknown
    /// One answer contained an id twice.
    case idTwice

    // A wrong total was reported.
    case lag, capped, estimated, noTotal, zero, tooLow, tooHigh
}

extension OriginChange {
    var occurrence: OriginOccurrence {
        switch self {
        case .insert: .insert
        // Clients cannot tell hiding from deletion.
        case .delete, .hide: .delete
        case .move: .move
        case .edit: .edit
        case .resort: .resort
        case .replaceAll: .replaceAll
        case .append: .append
        }
    }
}
