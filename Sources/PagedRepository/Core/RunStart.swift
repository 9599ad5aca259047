import PageModel

/// The times at which a run began, and what the storage knew of the list then.
struct RunStart: Equatable {
    /// The times of an earlier load of the list.
    struct Earlier: Equatable {
        var registered: Timestamp
        /// The last confirmation of page one.
        var confirmed: Timestamp
    }

    /// The time of this run's clock.
    let at: Timestamp
    /// The storage's time. `nil` means that the list was not known then.
    var storedSince: Timestamp?
    /// `nil` for a new list.
    var earlier: Earlier?
    /// Whether the items of each page were checked, and found.
    var isSound = false
}
