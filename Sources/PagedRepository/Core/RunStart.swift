import PageModel

/// The times at which a run began, and what the storage knew of the list then.
struct RunStart: Equatable {
    /// The times of an earlier load of the list.
    struct Earlier: Equatable {
        var registered: Timestamp
        /// When page one was last validated.
        var confirmed: Timestamp
        /// The end of the last sweep or round of the recheck. `nil` means that none has ended yet.
        var audited: Timestamp?
    }

    /// The time of this run's clock.
    let at: Timestamp
    /// The storage's time. `nil` means that the list was not known then.
    var storedSince: Timestamp?
    /// `nil` for a new list.
    var earlier: Earlier?
    /// The total of the list, if every position up to its end was held. `nil` if not.
    var wholeTotal: ListTotal?
    /// Whether the run has checked that the items of each page can be found, and found no damage.
    var isSound = false
    /// Whether the run only updates a stored list, and found none.
    var lacksList = false
}

extension RunStart {
    /// Whether a list that was held up to its end, and still has no gap, now has a total that differs from the number of
    /// its items (R22). If so, an item was inserted or deleted behind page one, or the total is wrong. False if the total
    /// was an estimate: a walk of the whole chain has already found it wrong.
    /// - Parameter state: the list after the refresh of page one. `nil` if it is not stored.
    func isContradicted(by state: ListState?) -> Bool {
        guard let before = wholeTotal else { return false }
        if case .estimate = before { return false }
        return state?.hasOtherEndThanTotal ?? false
    }
}

extension ListState {
    /// Whether the list is held up to its end without a gap, and its exact total differs from the number of its items.
    /// Then an item was inserted or deleted during or after the load, or the total is wrong (R22). False for a list that
    /// a result window cuts off, and for one that no walk would explain.
    var hasOtherEndThanTotal: Bool {
        guard let holdings, let total = record.total.exactCount else { return false }
        // A walk that failed for good would fail again. Lists that repeat ids are not walked to explain a total (R25).
        let hasFailed = failures?.contains { $0.state == .failedPermanent } ?? true
        return total != holdings.end && holdings.held.headEnd == holdings.end && isAtResultWindow != true
            && !record.allowsDuplicates && !hasFailed
    }
}
