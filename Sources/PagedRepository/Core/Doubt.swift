import PageModel

/// R20: an answer that takes much away is believed when the same comes again after a pause. The doubt is a failure in
/// the ledger, so that it outlives the run.
struct Doubt: Equatable {
    enum Verdict: Equatable {
        /// It was said before, long enough ago.
        case isOver
        /// To be asked again at this moment.
        case until(Timestamp)
    }

    /// What the answer claims; the words are its identity.
    let failure: FetchFailure

    init(_ page: FetchedPage) {
        let total = page.total.count.map { "\($0)" } ?? "an unknown number"
        failure = FetchFailure(
            .doubtful,
            "the list seems to have shrunk: \(page.content.count) items on page one, of \(total); not believed yet",
            isRetryable: true)
    }

    /// - Parameters:
    ///   - entry: what the ledger says of page one.
    ///   - askedAt: the storage's time at which this answer was asked for; when it came says nothing.
    ///   - now: the storage's time.
    func verdict(_ entry: LedgerEntry?, askedAt: Timestamp, now: Timestamp, pause: Duration) -> Verdict {
        guard let entry, isKnown(entry), let since = entry.firstFailureAt else { return .until(now + pause) }
        // R29: a clock that was set back does not make the pause any longer.
        return askedAt >= since + pause ? .isOver : .until(min(since, now) + pause)
    }

    /// Whether this very claim is the one that is doubted.
    private func isKnown(_ entry: LedgerEntry) -> Bool {
        entry.failure?.failureClass == .doubtful && entry.failure?.message == failure.message
    }

    /// What the ledger records: a new doubt begins its own time.
    /// - Parameters:
    ///   - entry: what the ledger says of page one.
    ///   - pause: how long until page one is asked for again.
    ///   - lease: the lease under which it was asked for; nil for none.
    func edits(_ entry: LedgerEntry?, pause: Duration, lease: LeaseToken?) -> [LedgerEdit] {
        let failed = LedgerEdit.failed(offset: 0, failure: failure, nextAttemptIn: pause, lease: lease)
        return entry.map(isKnown) == true ? [failed] : [.forgotten(offset: 0, lease: lease), failed]
    }
}
