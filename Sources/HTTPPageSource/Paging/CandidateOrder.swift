/// In which order ways to page are tried: what the answer and the URL suggest first, then what most origins use. There are
/// eight requests in all, page one included; what comes last may not be tried.
enum CandidateOrder {
    static let offsets = ["offset", "skip", "_start", "start"]
    static let pages = ["page", "_page", "page_number", "pageNumber", "p"]

    /// For an answer with a token that is no URL.
    static func forToken(_ token: ContinuationToken, _ byOffset: [Candidate], _ draft: DetectionDraft, _ url: OriginURL) -> [Candidate] {
        if token.text == nil { return byOffset + [.merge] }
        var candidates = byOffset
        // A token that counts what came, or the next page, is what it looks like: that is tried first.
        if token.number == draft.evidence.count, draft.evidence.count > 0 { candidates += ["offset", "start", "skip"].map { .offset($0) } }
        if let number = token.number, number == 1 || number == 2 { candidates += [.page("page", first: number - 1)] }
        return unique(candidates + cursors(token, url).map { .cursor($0) })
    }

    /// For an answer that shows no way on.
    static func forNothing(_ draft: DetectionDraft, _ configuration: HTTPSourceConfiguration, _ url: OriginURL) -> [Candidate] {
        var own: [Candidate] = []
        if let name = draft.description.pageParameter { own.append(.page(name, first: draft.description.firstPage)) }
        if let name = draft.description.offsetParameter { own.insert(.offset(name), at: 0) }
        let key = draft.description.key ?? draft.evidence.sortKey ?? draft.description.id
        func keyset(_ names: [String]) -> [Candidate] { key.map { key in names.map { .keyset($0, key: key) } } ?? [] }
        own += keyset([configuration.cursorParameter].compactMap(\.self) + ParameterNames.keyset.filter { url.value(of: $0) != nil })

        let first = configuration.firstPage
        let isNumbered = draft.evidence.pageCount != nil
        if isNumbered { return unique(own + [.page("page", first: first), .page("_page", first: first), .offset("offset")]) }
        if draft.evidence.hasMore == true {
            return unique(
                own + [.offset("offset")] + keyset(["starting_after", "after"]) + [.page("page", first: first)]
                    + keyset(["last", "marker", "since_id"]))
        }
        return unique(
            own + [.offset("offset"), .page("page", first: first), .offset("skip"), .page("_page", first: first), .offset("_start")]
                + keyset(["after", "starting_after", "last", "marker", "since_id"]))
    }

    static func keysets(_ url: OriginURL) -> [String] {
        let own = ParameterNames.keyset.filter { url.value(of: $0) != nil }
        return own + ParameterNames.keyset.filter { !own.contains($0) }
    }

    /// Parameters for a token, by what it is called: `next_page_token` goes into `page_token`, else into a parameter of its own
    /// name, else into the usual ones.
    static func cursors(_ token: ContinuationToken, _ url: OriginURL) -> [String] {
        var names = url.parameters.map(\.plainName).filter { ParameterNames.isCursor($0) }
        switch EnvelopeMember.plain(token.name) {
        case "endcursor", "nextkey", "nextid": names += ["after", "cursor"]
        case "next", "nextpage": names += ["cursor", "page", "after", "next"]
        case _: names += derived(token)
        }
        names += ["cursor", "after", "page_token", "pageToken", "token", "continuation", "start", "marker"]
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    private static func derived(_ token: ContinuationToken) -> [String] {
        var name = Substring(token.name)
        var isHeader = false
        if case .header = token.place {
            isHeader = true
            if name.lowercased().hasPrefix("x-") { name = name.dropFirst(2) }
        }
        var bare = name
        if name.lowercased().hasPrefix("next"), name.count > 4 {
            bare = name.dropFirst(4).drop { $0 == "_" || $0 == "-" }
        } else if name.hasPrefix("_"), name.count > 1 {
            bare = name.dropFirst()
        }
        if isHeader { return [bare.lowercased().replacing("-", with: "_")] }
        return [bare.prefix(1).lowercased() + bare.dropFirst(), token.name]
    }

    private static func unique(_ candidates: [Candidate]) -> [Candidate] {
        var seen: Set<Candidate> = []
        // With and without a known first page, it is the same question.
        var names: Set<String> = []
        return candidates.filter { candidate in
            if case .page(let name, _) = candidate { return names.insert(name).inserted }
            return seen.insert(candidate).inserted
        }
    }
}
