import PageModel

/// What a fresh page one says at first sight (R16, R20): a pure decision. What it means for the list behind it is the
/// `Reconciler`'s to find out.
struct HeadVerdict: Equatable {
    /// The cached list, as far as the decision needs it.
    struct Cached: Equatable {
        var total: Total
        /// Where the run from position 0 ends; everything before it is held.
        var headEnd: Int
        /// Whether nothing of the current generation is held.
        var isEmpty: Bool
        /// Where what can be read ends, pages of older generations included.
        var readableEnd: Int
        /// The identities at positions 0, 1, 2…, as many as the answer has or as are held.
        var headIdentities: [ItemIdentity]
    }

    enum Verdict: Equatable {
        /// Nothing was held: the answer begins the list.
        case firstLoad
        /// R16: nothing new.
        case unchanged
        /// Something is another than it was: see `Reconciler`.
        case changed
        /// R20: nothing, or less than half of the list, is left. To be confirmed by one more request.
        case doubtful
    }

    /// - Parameter end: where the answer itself says that the list ends.
    static func decide(_ answer: FetchedPage, end: Int?, cached: Cached, isConfirmed: Bool) -> Verdict {
        if !isConfirmed, isDoubtful(answer, end, cached) { return .doubtful }
        guard !cached.isEmpty else { return .firstLoad }
        let identities = answer.content.identities
        return isSame(identities, answer.total, end, cached) ? .unchanged : .changed
    }

    private static func isSame(_ identities: [ItemIdentity], _ total: Total, _ end: Int?, _ cached: Cached) -> Bool {
        // A total that was found to be wrong stays an estimate; whatever the origin counts is no news then.
        let isEstimate = if case .estimate = cached.total { true } else { false }
        return identities == cached.headIdentities && (total.count == cached.total.count || isEstimate)
            && (!identities.isEmpty || cached.headEnd == 0) && end ?? .max >= cached.headEnd
    }

    private static func isDoubtful(_ answer: FetchedPage, _ end: Int?, _ cached: Cached) -> Bool {
        if answer.content.isEmpty, cached.readableEnd > 0 { return true }
        if let end, end < cached.readableEnd, end * 2 < cached.readableEnd { return true }
        // An estimate, or a total that is known to be wrong, takes nothing away: doubted each time anew, it would only
        // be in the way.
        guard let before = cached.total.count, case .exact(let after) = answer.total else { return false }
        return after < before && after * 2 < before
    }
}
