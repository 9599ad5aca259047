import PageModel

/// An answer that showed that the list differs from the cached one.
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
    /// A reconciliation starts over at most this often (R18).
    private static let mostContradictions = 2

    /// Whether evidence other than page one shows that the cached list is wrong.
    private(set) var isSuspicious = false
    /// Answers that showed that the list had moved. They show the `Reconciler` where (R21).
    private(set) var evidence: [DriftEvidence] = []
    /// The number of reconciliations in a row whose answers contradicted each other (R18).
    private(set) var contradictions = 0
    /// How often a reconciliation of this run has looked again because other writers had stored pages.
    private var secondLooks = 0
    /// Whether page one leaves less than half of the list, and a second answer has confirmed it (R20).
    var isShrinkConfirmed = false
    /// Whether page one is requested without its validator, because a "not modified" would not be sufficient (R16).
    var asksUnconditionally = false

    /// Whether the last answers have shown no change that page one has to explain.
    var isNone: Bool { !asksUnconditionally && !isSuspicious && evidence.isEmpty }

    mutating func suspect() { isSuspicious = true }

    /// Records that an answer showed that the list had moved.
    /// - Parameters:
    ///   - isEnd: whether it is certain that no item follows the answer.
    ///   - isCounted: whether only the total has changed. If page one explains the new total, the rest of the list is
    ///     not in doubt.
    mutating func moved(_ page: FetchedPage, at offset: Int, isEnd: Bool, isCounted: Bool) {
        evidence = page.content.isEmpty && !isEnd ? [] : [DriftEvidence(offset: offset, page: page, isEnd: isEnd)]
        if !isCounted { isSuspicious = true }
    }

    /// Keeps an answer that was requested before the list was seen to have moved. If its total equals that of the next
    /// page one, both show the same state. Its items are then stored with the repair (R21).
    mutating func keep(_ answer: PageAnswer, at offset: Int) {
        guard case .page(let page) = answer, !page.content.isEmpty, page.total.exactCount != nil, !evidence.isEmpty,
            evidence.count < DriftBelief.mostEvidence
        else { return }
        evidence.append(DriftEvidence(offset: offset, page: page, isEnd: false))
    }

    /// Returns the evidence from the state of the list that page one shows, and forgets all evidence.
    mutating func takeEvidence(total: ListTotal) -> [DriftEvidence] {
        defer { evidence = [] }
        return evidence.filter { $0.page.total.count == total.count }
    }

    /// Page one has explained the drift, or there was none.
    mutating func explained() { (evidence, isSuspicious) = ([], false) }

    mutating func forgetEvidence() { evidence = [] }

    /// Counts a contradiction between the answers of a reconciliation.
    /// - Returns: whether the reconciliation may start over. If not, the list is read again.
    @discardableResult
    mutating func contradicted() -> Bool {
        contradictions += 1
        return contradictions <= DriftBelief.mostContradictions
    }

    /// Starts the count of contradictions again after a successful commit: a list that changes often contradicts itself
    /// now and then.
    mutating func repaired() { contradictions = 0 }

    /// Whether a reconciliation may look once more at a list that other writers have changed: twice in a run.
    var mayLookAgain: Bool { secondLooks < 2 }

    mutating func lookedAgain() { secondLooks += 1 }
}
