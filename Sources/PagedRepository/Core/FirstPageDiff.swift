import PageModel

/// Compares page one of an answer with the cached page one (R16, R20). `Reconciler` derives the consequences for the
/// rest of the list. Pure logic, without I/O.
struct FirstPageDiff: Equatable {
    /// The facts about the cached list that decide the result.
    struct Cached: Equatable {
        var total: ListTotal
        /// The end of the segment that begins at position 0. All positions before it are held.
        var headEnd: Int
        /// Whether the current generation holds no items.
        var isEmpty: Bool
        /// The end of all readable items, including pages of older generations.
        var readableEnd: Int
        /// The identities of the first held items, at most as many as the answer has.
        var headIdentities: [ItemIdentity]
    }

    enum Result: Equatable {
        /// No items were held: the answer begins the list.
        case firstLoad
        /// The answer shows no change (R16).
        case unchanged
        /// The answer shows a change; see `Reconciler`.
        case changed
        /// The list would be empty, or less than half as long as before (R20). One more request must confirm this.
        case unconfirmed
    }

    /// - Parameters:
    ///   - answer: the answer for page one.
    ///   - end: the end of the list according to the answer itself. `nil` if the answer does not show it.
    ///   - cached: the facts about the cached list.
    ///   - isConfirmed: whether an earlier answer has made the same claim, so that no confirmation is needed.
    static func decide(_ answer: FetchedPage, end: Int?, cached: Cached, isConfirmed: Bool) -> Result {
        if !isConfirmed, needsConfirmation(answer, end, cached) { return .unconfirmed }
        guard !cached.isEmpty else { return .firstLoad }
        let identities = answer.content.identities
        return isSame(identities, answer.total, end, cached) ? .unchanged : .changed
    }

    private static func isSame(_ identities: [ItemIdentity], _ total: ListTotal, _ end: Int?, _ cached: Cached) -> Bool
    {
        // A total that was wrong once stays an estimate. Another count by the origin is then no change.
        let isEstimate = if case .estimate = cached.total { true } else { false }
        return identities == cached.headIdentities && (total.count == cached.total.count || isEstimate)
            && (!identities.isEmpty || cached.readableEnd == 0) && end ?? .max >= cached.headEnd
    }

    private static func needsConfirmation(_ answer: FetchedPage, _ end: Int?, _ cached: Cached) -> Bool {
        // An empty page one that names the next page does not say that the list is empty.
        if answer.content.isEmpty, cached.readableEnd > 0 { return answer.next == nil }
        if let end, end < cached.readableEnd, end * 2 < cached.readableEnd { return true }
        // An estimated total removes no items, so it needs no confirmation. A total that is known to be wrong would
        // otherwise need one at every refresh.
        guard let before = cached.total.count, case .exact(let after) = answer.total else { return false }
        return after < before && after * 2 < before
    }
}
