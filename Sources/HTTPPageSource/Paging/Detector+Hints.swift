import PageModel

// What lets guess of parameters that are nowhere seen at work. Each is tried before what is merely usual, and kept only
// if it proves itself.
extension Detector {
    func findHints(_ draft: inout DetectionDraft, _ elements: [JSONValue]) {
        draft.evidence.hints = echoes() + partners() + ownKeys(elements)
    }

    /// The answer repeats what it was asked, or would be: `start: 0`, `page: 1`, `pagination: {page: 1}`.
    private func echoes() -> [Candidate] {
        var found: [Candidate] = []
        for member in members where member.kind == .number {
            guard let number = document.integer(member.value), number == 0 || number == 1 else { continue }
            // Objects in a query are often written like this: JSON:API, and many a framework.
            let holder = member.parent.flatMap {
                ["page", "pagination", "paging"].contains(EnvelopeMember.plain($0)) ? $0 : nil
            }
            let nested = holder.map { "\($0)[\(member.name)]" }
            if ParameterNames.offset.contains(member.name),
                number == 0 || ParameterNames.countedFromOne.contains(member.name)
            {
                found += [member.name, nested].compactMap(\.self).map { .offset($0, first: number) }
            } else if Detector.pageNames.contains(member.plainName) {
                let own = ParameterNames.page.contains(member.name) ? member.name : nil
                found += [own, nested].compactMap(\.self).map { .page($0, first: configuration.firstPage) }
            }
        }
        return found
    }

    /// Whoever takes sizes by these names takes places by those.
    private static let partners: [(size: String, places: [Candidate])] = [
        ("$top", [.offset("$skip")]), ("top", [.offset("skip")]), ("take", [.offset("skip")]),
        ("rows", [.offset("start")]),
        ("_limit", [.offset("_start"), .page("_page", first: nil)]), ("_per_page", [.page("_page", first: nil)]),
        ("per_page", [.page("page", first: nil)]), ("perPage", [.page("page", first: nil)]),
        ("page_size", [.page("page", first: nil)]),
        ("pageSize", [.page("page", first: nil), .page("pageNumber", first: nil)]),
        ("hitsPerPage", [.page("page", first: nil)]),
        ("page[size]", [.page("page[number]", first: nil)]), ("page[limit]", [.offset("page[offset]")]),
        ("pagination[pageSize]", [.page("pagination[page]", first: nil)]),
        ("pagination[limit]", [.offset("pagination[start]")]),
        ("maxResults", [.offset("startAt"), .offset("startIndex")]), ("resultRecordCount", [.offset("resultOffset")]),
        ("size", [.offset("from"), .page("page", first: nil)]), ("count", [.offset("startIndex")]),
    ]

    private func partners() -> [Candidate] {
        Detector.partners.filter { answer.url.value(of: $0.size).flatMap { Int($0) } != nil }.flatMap(\.places)
    }

    /// Each item has with it what the list goes on behind: its sort value, or a cursor of its own.
    private func ownKeys(_ elements: [JSONValue]) -> [Candidate] {
        let sortValue = JSONPointer(tokens: ["sort", "0"]), second = JSONPointer(tokens: ["sort", "1"]),
            cursor = JSONPointer(tokens: ["cursor"])
        guard elements.count > 1 else { return [] }
        // Of several sort values, none alone says where the list goes on.
        if isUnique(sortValue, elements), elements.allSatisfy({ document.value(at: second, below: $0) == nil }) {
            return [.keyset("search_after", key: sortValue)]
        }
        return isUnique(cursor, elements) ? [.keyset("after", key: cursor), .keyset("cursor", key: cursor)] : []
    }
}
