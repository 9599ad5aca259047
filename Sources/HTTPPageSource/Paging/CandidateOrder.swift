/// The order in which ways of paging are tried. Suggestions of the answer and the URL come first, then the most common
/// ways. Detection has a budget of requests (`HTTPSource.detectionBudget`), so the last candidates may stay untried.
enum CandidateOrder {
    static let offsets = ["offset", "skip", "_start", "start", "from"]
    static let pages = ["page", "_page", "page_number", "pageNumber", "p"]

    /// Usual names of positions and page numbers, which one request tries together if a total probably counts the list.
    static var further: [Candidate] {
        (offsets + ["startIndex", "startAt"]).map { .offset($0) }
            + (pages + ["pg", "pageNo", "page_no", "pageIndex"]).map { .page($0, first: nil) }
    }

    /// The offset parameter to probe when the list can be read without one.
    static func offset(_ draft: DetectionDraft) -> Candidate {
        if let name = draft.description.offsetParameter {
            return .offset(name, first: draft.description.firstOffset ?? 0)
        }
        return hinted(draft) { if case .offset = $0 { true } else { false } }.first ?? .offset("offset")
    }

    /// The hints of one kind.
    static func hinted(_ draft: DetectionDraft, _ isWanted: (Candidate) -> Bool) -> [Candidate] {
        draft.evidence.hints.filter(isWanted)
    }

    /// The candidates for an answer with a token that is not a URL.
    static func forToken(_ token: ContinuationToken, _ byOffset: [Candidate], _ draft: DetectionDraft, _ url: OriginURL)
        -> [Candidate]
    {
        if token.isMerged { return byOffset + [.merge] }
        var candidates = byOffset
        // A token that equals the item count or the next page number is tried as such first.
        if let number = token.number, number > 0, number == draft.evidence.count || number == draft.evidence.count + 1 {
            candidates += own(draft).filter { if case .offset = $0 { true } else { false } }
            // The caller's own position comes before the usual names: `from=0`.
            let own = ParameterNames.offset.filter { url.value(of: $0) == "0" }
            if number == draft.evidence.count {
                candidates += (own + ["offset", "from", "start", "skip"]).map { .offset($0) }
            }
        }
        if let number = token.number, number == 1 || number == 2 {
            candidates += own(draft).compactMap {
                if case .page(let name, _) = $0 { .page(name, first: number - 1) } else { nil }
            }
            candidates += [.page("page", first: number - 1)]
        }
        let removed = hinted(draft) { if case .cursor = $0 { true } else { false } }
        return unique(candidates + removed + cursors(token, url).map { .cursor($0) })
    }

    /// The candidates for an answer without a URL or token for the next page.
    static func forNothing(_ draft: DetectionDraft, _ configuration: HTTPSourceConfiguration, _ url: OriginURL)
        -> [Candidate]
    {
        let key = key(draft)
        func keyset(_ names: [String]) -> [Candidate] { key.map { key in names.map { .keyset($0, key: key) } } ?? [] }
        func offsets(_ names: [String]) -> [Candidate] { names.map { .offset($0) } }
        let said = keyset(
            [configuration.cursorParameter].compactMap(\.self)
                + ParameterNames.keyset.filter { url.value(of: $0) != nil })
        let parameters = own(draft, with: said)
        // A bare array with a limit and ids usually continues after its last item, unless a total counts it.
        let behindLast =
            draft.evidence.isBare && draft.evidence.hasIDs && url.value(of: "limit") != nil
                && !draft.evidence.isTotalLikely
            ? keyset(["marker", "before"]) : []

        let page = Candidate.page("page", first: configuration.firstPage),
            fashionable = Candidate.page("_page", first: configuration.firstPage),
            short = Candidate.page("p", first: configuration.firstPage)
        if draft.evidence.pageCount != nil {
            return unique(
                parameters + [
                    page, fashionable, .offset("offset"), .page("pageNumber", first: configuration.firstPage), short,
                ] + keyset(["before", "after"]))
        }
        // Origins that count the list usually also accept any offset.
        if draft.evidence.hasMore == true, draft.evidence.exactTotal != nil {
            return unique(
                parameters + [.offset("offset"), page, .offset("skip")] + keyset(["starting_after", "after"])
                    + offsets(["start", "from"]) + keyset(["last", "marker", "since_id"]))
        }
        if draft.evidence.hasMore == true {
            return unique(
                parameters + [.offset("offset")] + keyset(["starting_after", "after"]) + [page]
                    + keyset(["last", "marker", "since_id"])
                    + offsets(["skip", "start", "from"]))
        }
        if draft.evidence.exactTotal != nil {
            // An answer that numbers its pages may be requested by a number under another name.
            let numbers = hinted(draft) { if case .page = $0 { true } else { false } }.isEmpty ? [] : [short]
            return unique(
                parameters + [.offset("offset"), page] + numbers + offsets(["skip", "start", "from"]) + [
                    fashionable, .offset("_start"),
                ]
                    + keyset(["after", "starting_after"]))
        }
        // `_page` and `_start` usually go with a size parameter that also begins with `_`.
        let size = ParameterNames.size(in: url)
        // Searches that count their results usually take `from`.
        let isSearch = draft.evidence.isTotalWeak && !draft.evidence.isBare
        let last: [Candidate] =
            size?.hasPrefix("_") ?? !isSearch ? [fashionable, .offset("_start")] : [.offset("from")]
        return unique(
            parameters + [.offset("offset")] + behindLast + [page]
                + (behindLast.isEmpty ? [] : keyset(["starting_after", "after"])) + [
                    .offset("skip")
                ] + (size == nil ? [] : offsets(["start"])) + last
                + keyset(["after", "starting_after", "last", "marker", "since_id"]))
    }

    /// The place of the key that a keyset continues after. The first of these counts: the caller's key, a sort value or
    /// a cursor in every item, the member that the URL sorts by, the id.
    static func key(_ draft: DetectionDraft) -> JSONPointer? {
        let beside = draft.evidence.hints.lazy.compactMap { hint -> JSONPointer? in
            if case .keyset(_, let key) = hint { key } else { nil }
        }.first
        return draft.description.key ?? beside ?? draft.evidence.sortKey ?? draft.description.id
    }

    static func keysets(_ url: OriginURL) -> [String] {
        let own = ParameterNames.keyset.filter { url.value(of: $0) != nil }
        return own + ParameterNames.keyset.filter { !own.contains($0) }
    }

    /// The parameters of the paging profile, then `between`, then the hints of the answer.
    private static func own(_ draft: DetectionDraft, with between: [Candidate] = []) -> [Candidate] {
        var candidates: [Candidate] = []
        if let name = draft.description.offsetParameter {
            candidates.append(.offset(name, first: draft.description.firstOffset ?? 0))
        }
        if let name = draft.description.pageParameter {
            candidates.append(.page(name, first: draft.description.firstPage))
        }
        return candidates + between + draft.evidence.hints
    }

    /// Removes repeated candidates. Two offsets, or two page numbers, with the same parameter count as the same
    /// candidate, whatever their first value.
    static func unique(_ candidates: [Candidate]) -> [Candidate] {
        var seen: Set<Candidate> = []
        var pages: Set<String> = []
        var offsets: Set<String> = []
        return candidates.filter { candidate in
            switch candidate {
            case .page(let name, _): pages.insert(name).inserted
            case .offset(let name, _): offsets.insert(name).inserted
            case .cursor, .merge, .keyset: seen.insert(candidate).inserted
            }
        }
    }
}
