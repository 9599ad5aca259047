import PageModel

/// The places in the body of a POST search that may take the position of a page, best first.
enum BodyCandidates {
    static func find(_ draft: DetectionDraft, _ body: RequestBody, _ configuration: HTTPSourceConfiguration)
        -> [Candidate]
    {
        let all = all(draft, body)
        // If the caller named a style, only candidates of that style are kept.
        let own = all.filter { candidate in
            switch (configuration.paging, candidate) {
            case (.offset, .offset), (.page, .page), (.cursor, .cursor), (.keyset, .keyset), (.auto, _): true
            case _: false
            }
        }
        return own
    }

    private static func all(_ draft: DetectionDraft, _ body: RequestBody) -> [Candidate] {
        guard let token = draft.evidence.token, !token.isMerged else { return byPosition(draft, body) }
        let places = variables(of: body) + named(token, body)
        var seen: Set<String> = []
        return places.filter { seen.insert($0).inserted }.map { .cursor($0) }
            + (token.isWeak ? byPosition(draft, body) : [])
    }

    /// The places of the variables that the text of a GraphQL query passes to a cursor argument: `after: $cursor` (as
    /// in Relay's connections).
    private static func variables(of body: RequestBody) -> [String] {
        guard let value = body.document.member("query", of: body.document.root),
            let text = body.document.string(value)
        else { return [] }
        var found: [String] = []
        for argument in ["after", "cursor"] {
            var rest = text[...]
            while let range = rest.firstRange(of: argument) {
                rest = rest[range.upperBound...]
                let tail = rest.drop { $0 == " " }
                guard tail.first == ":" else { continue }
                let variable = tail.dropFirst().drop { $0 == " " }
                guard variable.first == "$" else { continue }
                let name = variable.dropFirst().prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                found.append("/variables/\(name)")
            }
        }
        let hasVariables = body.document.member("variables", of: body.document.root) != nil
        return hasVariables ? found : []
    }

    /// Members of the body that the token suggests. Members that exist come first.
    private static func named(_ token: ContinuationToken, _ body: RequestBody) -> [String] {
        guard let plain = OriginURL("http://body/") else { return [] }
        let names = CandidateOrder.cursors(token, plain).map { "/" + $0 }
        let existing = names.filter { JSONPointer($0).flatMap { body.document.value(at: $0) } != nil }
        return existing + names
    }

    private static func byPosition(_ draft: DetectionDraft, _ body: RequestBody) -> [Candidate] {
        let places = body.document.envelope()
        let behindItems = draft.evidence.hints.flatMap { hint -> [Candidate] in
            guard case .keyset(let name, let key) = hint else { return [] }
            if name == "search_after" { return [.keyset("/search_after", key: key)] }
            let own = places.filter { $0.name == name }.map { Candidate.keyset($0.pointer.description, key: key) }
            return variables(of: body).map { .keyset($0, key: key) } + own
        }
        let offsets = ["offset", "from", "skip", "start", "startAt"]
        let pages = ["page", "pageNumber", "page_number", "pageIndex"]
        // Members nearest to the top come first. Members inside an object of options count, too.
        let own = places.flatMap { place -> [Candidate] in
            guard [.number, .null].contains(place.kind) else { return [] }
            let pointer = place.pointer.description
            if offsets.contains(place.name) { return [.offset(pointer)] }
            return pages.contains(place.name) ? [.page(pointer, first: nil)] : []
        }
        let guesses: [Candidate] = [.offset("/offset"), .page("/page", first: nil), .offset("/from"), .offset("/skip")]
        return CandidateOrder.unique(own + behindItems + guesses)
    }
}
