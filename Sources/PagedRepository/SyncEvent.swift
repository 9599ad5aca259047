public import PageModel

/// An event during a synchronisation, for progress displays.
public enum SyncEvent: Hashable, Sendable {
    /// The run has found the query in the storage. `held` is the number of held positions. `length` is the length of
    /// the list; `nil` means unknown. Not sent for an unknown query.
    case opened(held: Int, length: Int?)
    /// Page one was fetched or validated, with this result.
    case reconciled(SyncReport.Reconciliation)
    /// A page was stored or verified at these positions. `held` is the number of held positions. `length` is the length
    /// of the list; `nil` means unknown.
    case stored(Range<Int>, held: Int, length: Int?)
    /// The origin forbids storing this page. `offset` is the position of its first item. The run delivers the page with
    /// this event only.
    case notStored(offset: Int, FetchedPage)
    /// A page could not be fetched. `nextAttemptAt` is the time of the next attempt, by the run's clock; `nil` means
    /// that no retry is scheduled.
    case failed(offset: Int, FetchFailure, nextAttemptAt: Timestamp?)
    /// The run sends no request before this time.
    case waiting(until: Timestamp)
    /// A warning for the user.
    case warning(String)
    /// The run has carried out this action. `result` states its result in a few words. Sent only if
    /// `SyncOptions.reportsActions` is true.
    case acted(SyncAction, result: String)
}
