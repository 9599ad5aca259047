import PageModel

/// The time at which a run began, and the facts about the list that the storage held then.
struct RunStart: Equatable {
    /// The times of an earlier load of the list.
    struct Earlier: Equatable {
        var registered: Timestamp
        /// The time at which page one was last validated.
        var confirmed: Timestamp
        /// The end of the last sweep or round of the recheck. `nil` means that none has ended yet.
        var audited: Timestamp?
    }

    /// The time of this run's clock.
    let at: Timestamp
    /// The storage's time when the run first read the list. `nil` means that the list was not stored then.
    var storedSince: Timestamp?
    /// The times of the earlier load. `nil` if page one was never fetched before this run.
    var earlier: Earlier?
    /// The total of the list, if every position up to its end was held. `nil` otherwise.
    var wholeTotal: ListTotal?
    /// Whether the run has checked the stored pages of the list, and found no damage.
    var isSound = false
    /// Whether the run may only update a stored list, and found none.
    var lacksList = false
}

extension RunStart {
    /// Whether a list without gaps now has an exact total that differs from the number of its items (R22). The list was
    /// held up to its end when the run began. So an item was inserted or deleted after page one, or the total is wrong.
    /// Returns false if the total was an estimate, because an earlier walk of the whole chain has then found it wrong.
    /// wrong.
    /// - Parameter state: the list after the refresh of page one. `nil` if it is not stored.
    func isContradicted(by state: ListState?) -> Bool {
        guard let before = wholeTotal else { return false }
        if case .estimate = before { return false }
        return state?.hasOtherEndThanTotal ?? false
    }
}

extension ListState {
    /// Whether the list is held up to its end without a gap, and its exact total differs from the number of its items.
    /// An item was then inserted or deleted during or after the load, or the total is wrong (R22). False for a list
    /// that a result window cuts off, and for one that no walk would explain.
    var hasOtherEndThanTotal: Bool {
        guard let holdings, let total = record.total.exactCount else { return false }
        // A walk that failed permanently would fail again. Lists that repeat ids are not walked to explain a total
        // (R25).
        let hasFailed = failures?.contains { $0.state == .failedPermanent } ?? true
        return total != holdings.end && holdings.held.headEnd == holdings.end && isAtResultWindow != true
            && !record.allowsDuplicates && !hasFailed
    }
}
