import PageModel

/// An answer from which a reconciliation can find out where the list has moved.
struct DriftEvidence: Equatable {
    var offset: Int
    var page: FetchedPage
    /// Whether two answers said that no item follows (R20).
    var isEnd: Bool
}

/// Whether and how the list at the origin differs from the cached one, as far as the answers of a run show it.
struct DriftBelief: Equatable {
    /// The maximum number of answers that are kept as evidence.
    static let mostEvidence = 16
    /// The maximum number of times that a reconciliation starts over (R18).
    private static let mostContradictions = 2

    /// Whether evidence other than page one shows that the cached list is wrong.
    private(set) var isSuspicious = false
    /// Answers that show where the list has moved (R21).
    private(set) var evidence: [DriftEvidence] = []
    /// The number of reconciliations in a row whose answers contradicted each other (R18).
    private(set) var contradictions = 0
    /// How often reconciliations of this run have requested page one again because other writers had stored pages.
    private var secondLooks = 0
    /// Whether page one leaves less than half of the list, or nothing, and a second answer has confirmed this (R20).
    var isShrinkConfirmed = false
    /// Whether page one is requested without its validator, because a 304 (not modified) would not be sufficient (R16).
    var asksUnconditionally = false

    /// Whether the last answers have shown no change that page one has to explain.
    var isNone: Bool { !asksUnconditionally && !isSuspicious && evidence.isEmpty }

    mutating func suspect() { isSuspicious = true }

    /// Records an answer that showed that the list has moved.
    /// - Parameters:
    ///   - isEnd: whether it is certain that no item follows the answer.
    ///   - isCounted: whether only the total has changed. If page one explains the new total, the rest of the list is
    ///     not in doubt.
    mutating func moved(_ page: FetchedPage, at offset: Int, isEnd: Bool, isCounted: Bool) {
        evidence = page.content.isEmpty && !isEnd ? [] : [DriftEvidence(offset: offset, page: page, isEnd: isEnd)]
        if !isCounted { isSuspicious = true }
    }

    /// Keeps an answer to a request that was sent before the run noticed the move. An answer with the total of the next
    /// page one shows the same state of the list. The repair can then use its items (R21).
    mutating func keep(_ answer: PageAnswer, at offset: Int) {
        guard case .page(let page) = answer, !page.content.isEmpty, page.total.exactCount != nil, !evidence.isEmpty,
            evidence.count < DriftBelief.mostEvidence
        else { return }
        evidence.append(DriftEvidence(offset: offset, page: page, isEnd: false))
    }

    /// Returns the answers with the same total as page one, which show the same state of the list. Forgets all
    /// evidence.
    mutating func takeEvidence(total: ListTotal) -> [DriftEvidence] {
        defer { evidence = [] }
        return evidence.filter { $0.page.total.count == total.count }
    }

    /// Records that page one has explained the drift, or that there was none.
    mutating func explained() { (evidence, isSuspicious) = ([], false) }

    mutating func forgetEvidence() { evidence = [] }

    /// Counts a contradiction between the answers of a reconciliation, or a commit that the storage rejected.
    /// - Returns: whether the reconciliation may start over. If not, the list is read again.
    @discardableResult
    mutating func contradicted() -> Bool {
        contradictions += 1
        return contradictions <= DriftBelief.mostContradictions
    }

    /// Resets the count of contradictions after a successful commit. In a list that changes often, answers contradict
    /// each other now and then.
    mutating func repaired() { contradictions = 0 }

    /// Whether a reconciliation may request page one once more because other writers have changed the list. The limit
    /// is twice in a run.
    var mayLookAgain: Bool { secondLooks < 2 }

    mutating func lookedAgain() { secondLooks += 1 }
}
