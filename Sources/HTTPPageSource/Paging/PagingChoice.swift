import PageModel

/// Chooses how to page by the evidence in page one. Pure. Documentation/Detection.md documents the order.
enum PagingChoice {
    /// Sets the style to use when no candidate is proved. Returns the candidates for probes, best first.
    static func decide(_ draft: inout DetectionDraft, _ configuration: HTTPSourceConfiguration, url: OriginURL)
        -> [Candidate]
    {
        let evidence = draft.evidence
        switch configuration.paging {
        case .offset:
            draft.description.style = .offset
            if draft.description.offsetParameter != nil { return [] }
            draft.description.offsetParameter = "offset"
            let hints = CandidateOrder.hinted(draft) { if case .offset = $0 { true } else { false } }
            return evidence.count > 0 ? CandidateOrder.unique(hints + CandidateOrder.offsets.map { .offset($0) }) : []
        case .page:
            draft.description.style = .page
            let name = draft.description.pageParameter
            draft.description.pageParameter = name ?? "page"
            if name != nil {
                draft.description.firstPage =
                    draft.description.firstPage ?? evidence.pageNumber.map { min(max($0, 0), 1) }
            }
            let hints = CandidateOrder.hinted(draft) { if case .page = $0 { true } else { false } }
            let usual = CandidateOrder.pages.map { Candidate.page($0, first: configuration.firstPage) }
            return name == nil && evidence.count > 0 ? CandidateOrder.unique(hints + usual) : []
        case .cursor:
            draft.description.style = .cursor
            if evidence.token == nil {
                draft.warnings.append("the first answer has no token; taken for the whole list")
            }
            guard let token = evidence.token, configuration.cursorParameter == nil else { return [] }
            return token.isMerged ? [] : CandidateOrder.cursors(token, url).map { .cursor($0) }
        case .keyset:
            draft.description.style = .keyset
            draft.description.key = draft.description.key ?? evidence.sortKey ?? draft.description.id
            guard configuration.cursorParameter == nil else { return [] }
            draft.description.cursorParameter = "after"
            return draft.description.key.map { key in CandidateOrder.keysets(url).map { .keyset($0, key: key) } } ?? []
        case .link:
            draft.description.style = .link
            draft.description.next = draft.description.next ?? .header("Link")
            return []
        case .nextURL:
            draft.description.style = .nextURL
            if evidence.next == nil {
                draft.warnings.append("the first answer has no next URL; taken for the whole list")
            }
            return []
        case .none:
            draft.description.style = .none
            return []
        case .auto:
            return byEvidence(&draft, configuration, url)
        }
    }

    /// Whether the list ends with page one, or page one has no evidence at all. The way of paging cannot be seen then,
    /// and is not needed. The next first answer is examined again.
    static func isWhole(_ evidence: Evidence) -> Bool {
        if evidence.next != nil || evidence.hasStrongToken || evidence.hasMore == true { return false }
        if evidence.count == 0 || evidence.hasMore == false { return true }
        if let total = evidence.exactTotal, total <= evidence.count { return true }
        return evidence.pageCount == 1
    }

    private static func byEvidence(
        _ draft: inout DetectionDraft, _ configuration: HTTPSourceConfiguration, _ url: OriginURL
    ) -> [Candidate] {
        let evidence = draft.evidence
        if isWhole(evidence) {
            draft.description.style = .none
            draft.description.isProvisional = true
            return []
        }
        // Random access comes first: pages load in parallel, and a single page can be fetched again. It needs a total
        // to know the number of pages.
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
            // Without items, the layout of an item is unknown. The next first answer is examined again.
            if evidence.count == 0 { draft.description.isProvisional = true }
            return byOffset
        }
        draft.description.style = .none
        if let token = evidence.token {
            if let said = configuration.cursorParameter {
                draft.description.style = .cursor
                draft.description.cursorParameter = said
                draft.description.isTokenWeak = token.isWeak ? true : nil
                return byOffset
            }
            let candidates = CandidateOrder.forToken(token, byOffset, draft, url)
            guard token.isWeak else { return candidates }
            // A weak token may be none: other ways are tried as well.
            return CandidateOrder.unique(
                Array(candidates.prefix(3)) + CandidateOrder.forNothing(draft, configuration, url))
        }
        return CandidateOrder.forNothing(draft, configuration, url)
    }

    /// Whether one probe for offsets is worth its cost, so that a chain can be read in parallel as well. It is when the
    /// total is at least four pages long.
    private static func isWorthAnOffset(_ evidence: Evidence) -> Bool {
        guard evidence.count > 0, let total = evidence.exactTotal else { return false }
        return total / evidence.count >= 4
    }

    // MARK: Results

    /// Takes a candidate that a probe has proved.
    /// - Parameter first: the number of page one, or of its first item, where the probe has found it out.
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
            draft.explain("key", SourceDescription.named(key), .proved)
        }
        guard draft.evidence.isTotalWeak else { return }
        draft.explain("total", draft.description.total?.description ?? "none", .failed, "it counts the page")
        draft.description.total = nil
        draft.evidence.total = .unknown
    }

    /// No candidate was proved. The description keeps what is known, and a warning names the rest.
    static func giveUp(_ draft: inout DetectionDraft, _ configuration: HTTPSourceConfiguration) {
        switch configuration.paging {
        case .offset, .page, .keyset:
            let name =
                draft.description.offsetParameter ?? draft.description.pageParameter ?? draft.description
                .cursorParameter ?? ""
            draft.explain(configuration.paging.rawValue, name, .assumed)
            draft.warnings.append(
                "no parameter for --paging \(configuration.paging.rawValue) proved itself; '\(name)' is taken: name it")
            return
        case .cursor:
            draft.warnings.append(
                "no parameter takes the token at \(draft.description.next?.description ?? "?"); name one with --cursor-param"
            )
            draft.description.style = .none
            return
        case .auto, .link, .nextURL, .none:
            break
        }
        guard draft.description.style == .none else { return }
        // The next run detects again when page one looks different.
        draft.description.isProvisional = true
    }

    /// Completes the description with the values that its style needs besides the parameters.
    static func complete(_ draft: inout DetectionDraft) {
        if draft.description.style == .page {
            draft.description.firstPage = draft.description.firstPage ?? 1
            draft.description.gridSize = max(draft.evidence.count, 1)
        }
        draft.explain(
            "paging", draft.description.style.rawValue,
            draft.description.said?.hasPrefix("paging=") == true ? .said : ground(draft))
    }

    private static func ground(_ draft: DetectionDraft) -> Explained.Ground {
        let isProved =
            draft.description.reasons?.contains {
                $0.ground == .proved && ["offset", "page", "cursor"].contains($0.field)
            } ?? false
        return isProved ? .proved : .seen
    }
}
