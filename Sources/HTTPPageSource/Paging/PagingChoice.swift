import PageModel

/// Chooses how to page, from the evidence in page one. The functions are pure. Documentation/Detection.md has the
/// order.
enum PagingChoice {
    /// Sets the style to use when no candidate is proved. Returns the candidates for probes, best first.
    static func decide(_ draft: inout DetectionDraft, _ configuration: HTTPSourceConfiguration, url: OriginURL)
        -> [Candidate]
    {
        let evidence = draft.evidence
        // The style stays `none` unless another one proves itself. Page one is then all that is known of the list.
        draft.description.style = .none
        switch configuration.paging {
        case .offset:
            if draft.description.offsetParameter != nil {
                draft.description.style = .offset
                return []
            }
            let hints = CandidateOrder.hinted(draft) { if case .offset = $0 { true } else { false } }
            return evidence.count > 0 ? CandidateOrder.unique(hints + CandidateOrder.offsets.map { .offset($0) }) : []
        case .page:
            if draft.description.pageParameter != nil {
                draft.description.style = .page
                draft.description.firstPage =
                    draft.description.firstPage ?? evidence.pageNumber.map { min(max($0, 0), 1) }
                return []
            }
            let hints = CandidateOrder.hinted(draft) { if case .page = $0 { true } else { false } }
            let usual = CandidateOrder.pages.map { Candidate.page($0, first: configuration.firstPage) }
            return evidence.count > 0 ? CandidateOrder.unique(hints + usual) : []
        case .cursor:
            guard let token = evidence.token else { return [] }
            return token.isMerged ? [.merge] : CandidateOrder.cursors(token, url).map { .cursor($0) }
        case .keyset:
            let key = CandidateOrder.key(draft)
            draft.description.key = key
            return key.map { key in CandidateOrder.keysets(url).map { .keyset($0, key: key) } } ?? []
        case .link, .nextURL:
            // A next URL in the body or in a header is followed. Without one, no next page can be requested.
            if evidence.next != nil || evidence.hasBrokenNext {
                draft.description.style = configuration.paging == .link ? .link : .nextURL
            }
            return []
        case .none:
            draft.description.style = .none
            return []
        case .auto:
            return byEvidence(&draft, configuration, url)
        }
    }

    /// The parameters that the caller names, as candidates. A parameter that is in the next URL of page one needs no
    /// probe. A list that ends with page one needs no candidate.
    static func said(_ draft: DetectionDraft, _ configuration: HTTPSourceConfiguration, url: OriginURL) -> [Candidate] {
        let isSmallList = draft.evidence.isTotalLikely && draft.evidence.isPageSmall
        guard !isWhole(draft.evidence), !isSmallList, ![.none, .link, .nextURL].contains(configuration.paging) else {
            return []
        }
        func isShown(_ name: String) -> Bool { draft.evidence.next?.value(of: name) != nil }
        var found: [Candidate] = []
        if let name = configuration.offsetParameter, !isShown(name) {
            found.append(.offset(name, first: draft.description.firstOffset ?? 0))
            // Multiples of the page size that are counted from 1.
            if configuration.overlap == 0, draft.description.firstOffset == nil,
                ParameterNames.countedFromOne.contains(name)
            {
                found.append(.offset(name, first: 1))
            }
        }
        if let name = configuration.pageParameter, !isShown(name) {
            found.append(.page(name, first: configuration.firstPage))
        }
        if let name = configuration.cursorParameter, !isShown(name) {
            if draft.evidence.token != nil, configuration.paging != .keyset {
                found.append(.cursor(name))
            } else if let key = CandidateOrder.key(draft), configuration.paging != .cursor {
                found.append(.keyset(name, key: key))
            }
        }
        return found
    }

    /// Whether the list ends with page one, or page one has no items. The paging style cannot be detected then, and is
    /// not needed yet. The next answer for page one is examined again.
    static func isWhole(_ evidence: Evidence) -> Bool {
        if evidence.next != nil || evidence.hasStrongToken || evidence.hasMore == true { return false }
        if evidence.count == 0 || evidence.hasMore == false { return true }
        if let total = evidence.exactTotal, total <= evidence.count { return true }
        return evidence.pageCount == 1
    }

    /// Whether the list ends with page one, or the answer has a member for the next page that is null or empty. Such a
    /// member does not count when the page has a usual size and the answer suggests a way to request more.
    static func ends(_ evidence: Evidence) -> Bool {
        if isWhole(evidence) { return true }
        return evidence.deniesNext && evidence.hasMore != true && evidence.total.count ?? 0 <= evidence.count
            && evidence.pageCount ?? 1 <= 1
            && evidence.remaining ?? 0 == 0 && evidence.token == nil
            && (evidence.hints.isEmpty || !OpenEnd.usualSizes.contains(evidence.count))
    }

    private static func byEvidence(
        _ draft: inout DetectionDraft, _ configuration: HTTPSourceConfiguration, _ url: OriginURL
    ) -> [Candidate] {
        let evidence = draft.evidence
        if ends(evidence) {
            draft.description.style = .none
            draft.description.isProvisional = true
            return []
        }
        // Random access comes first: pages load in parallel, and a single page can be fetched again. Random access
        // needs a total, which gives the number of pages.
        if evidence.exactTotal != nil, draft.description.offsetParameter != nil {
            draft.description.style = .offset
            return []
        }
        if evidence.exactTotal != nil, draft.description.pageParameter != nil {
            draft.description.style = .page
            return []
        }
        let byOffset = isWorthAnOffset(evidence) ? [CandidateOrder.offset(draft)] : []
        if evidence.next != nil {
            if case .header = draft.description.next {
                draft.description.style = .link
            } else {
                draft.description.style = .nextURL
            }
            // Without items, the layout of an item is unknown. The next page one is examined again.
            if evidence.count == 0 { draft.description.isProvisional = true }
            return byOffset
        }
        draft.description.style = .none
        if let token = evidence.token {
            let candidates = CandidateOrder.forToken(token, byOffset, draft, url)
            guard token.isWeak else { return candidates }
            // A weak token may be no token at all: other ways are tried as well.
            return CandidateOrder.unique(
                Array(candidates.prefix(3)) + CandidateOrder.forNothing(draft, configuration, url))
        }
        return CandidateOrder.forNothing(draft, configuration, url)
    }

    /// Whether one probe for offsets is worth its cost, so that a chain can be read in parallel as well: the total must
    /// be at least four pages long.
    private static func isWorthAnOffset(_ evidence: Evidence) -> Bool {
        guard evidence.count > 0, let total = evidence.exactTotal else { return false }
        return total / evidence.count >= 4
    }

    // MARK: Results

    /// Writes a candidate that a probe has proved into the paging profile.
    /// - Parameter first: the number of page one, or of its first item. `nil` if the probe has not found it out.
    static func accept(_ candidate: Candidate, first: Int?, _ draft: inout DetectionDraft) {
        switch candidate {
        case .offset(let name, let said):
            draft.description.style = .offset
            draft.description.offsetParameter = name
            draft.description.firstOffset = max(said, first ?? 0) == 1 ? 1 : nil
            draft.explain(
                "offset", name, .proved,
                draft.description.firstOffset == nil ? ProbeFinding.proved.detail : "the first item is number 1")
        case .page(let name, _):
            draft.description.style = .page
            draft.description.pageParameter = name
            draft.description.firstPage = first ?? draft.description.firstPage
            draft.explain("page", name, .proved, "page one is number \(draft.description.firstPage ?? 1)")
        case .cursor(let name):
            draft.description.style = .cursor
            draft.description.cursorParameter = name
            draft.description.isTokenWeak = draft.evidence.token?.isWeak == true ? true : nil
            draft.explain("cursor", name, .proved, ProbeFinding.proved.detail)
        case .merge:
            draft.description.style = .cursor
            draft.explain(
                "cursor", "the members of \(draft.description.next?.description ?? "")", .proved,
                ProbeFinding.proved.detail)
        case .keyset(let name, let key):
            draft.description.style = .keyset
            draft.description.cursorParameter = name
            draft.description.key = key
            draft.explain("cursor", name, .proved, ProbeFinding.proved.detail)
            draft.explain("key", PagingProfile.named(key), .proved)
        }
        takeTotal(of: &draft)
        guard draft.evidence.isTotalWeak else { return }
        draft.explain("total", draft.description.total?.description ?? "none", .failed, "it counts the page")
        draft.description.total = nil
        draft.evidence.total = .unknown
    }

    /// The least difference between the total of page one and that of the answer that proved the style at which the
    /// total becomes an estimate. A smaller difference can be a change of the list.
    private static let leastDifference = 5

    private static func takeTotal(of draft: inout DetectionDraft) {
        guard let before = draft.evidence.total.exactCount, let after = draft.probedTotal, !draft.evidence.isTotalWeak,
            abs(before - after) >= leastDifference
        else { return }
        draft.description.isEstimate = true
        draft.evidence.total = .estimate(before)
        let place = draft.description.total?.description ?? "the total"
        draft.warnings.append("\(place) is \(before) on page one and \(after) in the next answer: an estimate")
        draft.explain("total", "an estimate", .proved, "\(before), then \(after)")
    }

    /// Accepts page one alone after no candidate was proved. The next page one is examined again.
    static func acceptPageOneOnly(_ draft: inout DetectionDraft) {
        guard draft.description.style == .none else { return }
        draft.description.isProvisional = true
        if draft.evidence.isTotalLikely, draft.unexplained == nil { draft.evidence.isTotalWeak = false }
    }

    /// Completes the paging profile with the values that its style needs besides the parameters.
    static func complete(_ draft: inout DetectionDraft) {
        // A token that the last page may have as well shows nothing where pages are requested by number.
        if !draft.description.isChain, draft.description.style != .none, draft.evidence.token?.isWeak == true {
            draft.description.next = nil
        }
        if draft.description.style == .page {
            draft.description.firstPage = draft.description.firstPage ?? 1
            draft.description.gridSize = max(draft.evidence.count, 1)
        }
        draft.explain(
            "paging", draft.description.style.rawValue,
            draft.description.said?.hasPrefix("paging=\(draft.description.style.rawValue)") == true
                ? .said : reason(draft))
    }

    private static func reason(_ draft: DetectionDraft) -> PagingDecision.Reason {
        let isProved =
            draft.description.reasons?.contains {
                $0.reason == .proved && ["offset", "page", "cursor"].contains($0.field)
            } ?? false
        return isProved ? .proved : .seen
    }
}
