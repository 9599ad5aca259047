import PageModel

/// An answer that does not fit the pages before it.
struct EphemeralMismatch: Hashable {
    /// The number of items before the answer.
    var place: Int
    /// The fingerprint of the answer's items.
    var content: UInt64
    var total: ListTotal
}

/// The answers that a walk accepts although they do not fit the pages before them.
struct ToleratedMismatches: Equatable {
    /// Answers that an earlier walk has received at the same place. They do not show a change of the list.
    var known: Set<EphemeralMismatch> = []
    /// Whether answers with inserted items are accepted, because the list keeps growing while it is read.
    var allowsInserts = false
    /// Whether every answer is accepted, for a part of a list that is read once.
    var allowsAll = false

    func contains(_ mismatch: EphemeralMismatch) -> Bool { allowsAll || known.contains(mismatch) }

    func allows(_ arrival: EphemeralPages.Arrival) -> Bool { allowsInserts && arrival.isPushed }
}
