import PageModel

/// What a fresh page one says about the whole list (R16, R17, R19, R20): a pure decision.
///
/// The answer's items are looked up in the cached list; the totals before and after are the check digit. What they do
/// not explain together is not guessed at: the list is then fetched again.
struct HeadReconciler: Equatable {
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
        /// Where the answer's identity keys are held.
        var positions: [UInt64: Int]
    }

    enum Verdict: Equatable {
        /// Nothing was held: the answer begins the list.
        case firstLoad
        /// R16: nothing new.
        case unchanged
        /// R17: the answer takes the place of positions `0..<replaced`; the items at `moved` (ascending, all behind
        /// them) have moved into the answer and leave their old places; what lies behind is shifted.
        case spliced(replaced: Int, moved: [Int])
        /// R19: no item of the answer is known.
        case noOverlap
        /// Something changed that the head does not show.
        case unexplained
        /// R20: nothing, or less than half of the list, is left. To be confirmed by one more request.
        case doubtful
    }

    /// - Parameter end: where the answer itself says that the list ends.
    static func decide(_ answer: FetchedPage, end: Int?, cached: Cached, isConfirmed: Bool) -> Verdict {
        if !isConfirmed, isDoubtful(answer, end, cached) { return .doubtful }
        guard !cached.isEmpty else { return .firstLoad }
        let identities = answer.content.identities
        if isSame(identities, answer.total, end, cached) { return .unchanged }

        guard Set(identities.map(\.key)).count == identities.count else { return .unexplained }
        let places = identities.map { cached.positions[$0.key] }
        guard places.contains(where: { $0 != nil }) else { return .noOverlap }
        // Without exact totals there is no check digit: a head that changed explains nothing.
        guard let before = cached.total.exactCount, let after = answer.total.exactCount else { return .unexplained }
        return splice(places, growth: after - before, headEnd: cached.headEnd) ?? .unexplained
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
        guard let before = cached.total.count, let after = answer.total.count else { return false }
        return after < before && after * 2 < before
    }

    /// Aligns the answer with the list: anchors are answer items whose cached positions ascend. The last one says how
    /// far the answer reaches into the cached list, if it satisfies the check digit. An earlier one that happens to
    /// satisfy it is not taken: items behind it may as well stand there because what lay between was deleted.
    private static func splice(_ places: [Int?], growth: Int, headEnd: Int) -> Verdict? {
        let inserted = places.count { $0 == nil }
        let known = places.compactMap { $0 }
        // An anchor behind a gap cannot tell how many items before it are gone.
        guard let anchor = ascendingAnchors(known).last, anchor < headEnd else { return nil }
        let replaced = anchor + 1
        let removed = replaced - known.count { $0 <= anchor }
        guard inserted - removed == growth else { return nil }
        return .spliced(replaced: replaced, moved: known.filter { $0 > anchor }.sorted())
    }

    /// The longest strictly ascending subsequence (patience sorting).
    private static func ascendingAnchors(_ positions: [Int]) -> [Int] {
        var tails: [Int] = []  // index of the smallest last element of an ascending sequence of each length
        var previous = [Int?](repeating: nil, count: positions.count)
        for (index, position) in positions.enumerated() {
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if positions[tails[middle]] < position { low = middle + 1 } else { high = middle }
            }
            previous[index] = low > 0 ? tails[low - 1] : nil
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var anchors: [Int] = []
        var index = tails.last
        while let current = index {
            anchors.append(positions[current])
            index = previous[current]
        }
        return anchors.reversed()
    }
}
