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
    /// Whether the run has checked that the items of each page can be found, and found no damage.
    var isSound = false
}
