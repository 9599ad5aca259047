import PageModel

/// Decides whether an answer that would remove much of the list is believed (R20). The same claim must be repeated
/// after a pause. The first claim is stored in the ledger as a failure of class `unconfirmed`, so a later run can
/// confirm it.
struct ShrinkGuard: Equatable {
    enum Confirmation: Equatable {
        /// The same claim was made before, and the pause since then is over.
        case isOver
        /// The page must be fetched again, but not before this time.
        case until(Timestamp)
    }

    /// The claim of the answer. The message identifies it.
    let failure: FetchFailure

    init(_ page: FetchedPage) {
        let count = page.content.count
        let claim =
            switch (page.total.count, count) {
            case (_, 0): "page one is empty, although items are held"
            case (let total?, _): "the list seems to have shrunk to \(total) items, \(count) on page one"
            case (nil, _): "the list seems to have shrunk to the \(count) items of page one"
            }
        failure = FetchFailure(.unconfirmed, "\(claim); a second answer must confirm it", isRetryable: true)
    }

    /// Returns whether the claim is confirmed.
    /// - Parameters:
    ///   - entry: the ledger entry of page one.
    ///   - askedAt: the storage's time at which this answer was requested. The arrival time does not count.
    ///   - now: the storage's time.
    ///   - pause: the time from the first claim to the request that can confirm it.
    func confirmation(_ entry: LedgerEntry?, askedAt: Timestamp, now: Timestamp, pause: Duration) -> Confirmation {
        guard let entry, isKnown(entry), let since = entry.firstFailureAt else { return .until(now + pause) }
        // A clock that was set back does not extend the pause (R29).
        return askedAt >= since + pause ? .isOver : .until(min(since, now) + pause)
    }

    /// Whether the ledger has recorded this claim before.
    private func isKnown(_ entry: LedgerEntry) -> Bool {
        entry.failure?.failureClass == .unconfirmed && entry.failure?.message == failure.message
    }

    /// Returns the ledger edits that record the claim. A new claim starts its own pause.
    /// - Parameters:
    ///   - entry: the ledger entry of page one.
    ///   - pause: how long until page one is fetched again.
    ///   - lease: the lease of the request. `nil` means that it has none.
    func edits(_ entry: LedgerEntry?, pause: Duration, lease: LeaseToken?) -> [LedgerEdit] {
        let failed = LedgerEdit.failed(offset: 0, failure: failure, nextAttemptIn: pause, lease: lease)
        return entry.map(isKnown) == true ? [failed] : [.deleted(offset: 0, lease: lease), failed]
    }
}
