import PageModel

// Paging parameters in the URL of the next page, or in the caller's own URL.
extension Detector {
    func findParameters(_ draft: inout DetectionDraft) {
        let next = draft.evidence.next, count = draft.evidence.count
        if let said = configuration.offsetParameter {
            draft.description.offsetParameter = said
            draft.explain("offset", said, .said)
            draft.description.firstOffset = firstOffset(of: said)
        } else if let (name, first) = offsetParameter(next, count: count) {
            draft.description.offsetParameter = name
            draft.description.firstOffset = first == 1 ? 1 : nil
            draft.explain("offset", name, next == nil ? .said : .seen, next == nil ? "in the URL" : "in the next URL")
        }
        draft.description.pageParameter = configuration.pageParameter
        draft.description.firstPage = configuration.firstPage
        if let said = configuration.pageParameter { draft.explain("page", said, .said) }
        if let (name, first) = pageParameter(next), configuration.pageParameter.map({ $0 == name }) ?? true {
            if configuration.pageParameter == nil {
                draft.explain("page", name, next == nil ? .said : .seen, next == nil ? "in the URL" : "in the next URL")
            }
            draft.description.pageParameter = name
            draft.description.firstPage = draft.description.firstPage ?? first
        }
        draft.description.cursorParameter = configuration.cursorParameter
        if let said = configuration.cursorParameter { draft.explain("cursor", said, .said) }
        draft.description.key = configuration.key
        if let said = configuration.key { draft.explain("key", PagingProfile.named(said), .said) }
        if let said = configuration.limitParameter {
            draft.description.limitParameter = said
            draft.explain("size", said, .said)
        } else if let found = limitParameter(next, count: count) {
            draft.description.limitParameter = found
            draft.explain("size", found, .seen)
        }
    }

    /// Returns a parameter whose value in the next URL is larger by exactly the item count of this page, and the number
    /// of the first item, 0 or 1. Without a next URL, returns an offset parameter of the caller's URL.
    private func offsetParameter(_ next: OriginURL?, count: Int) -> (name: String, first: Int)? {
        guard count > 0 else { return nil }
        for name in ParameterNames.offset {
            let start = answer.url.value(of: name).map { Int($0) } ?? firstOffset(of: name) ?? 0
            guard let start, let value = next?.value(of: name).flatMap({ Int($0) }), value >= count,
                value - count == start
            else { continue }
            return (name, start == 1 ? 1 : 0)
        }
        guard next == nil else { return nil }
        return ["offset", "skip", "_start", "$skip", "page[offset]"].first {
            answer.url.value(of: $0).map { Int($0) != nil } ?? false
        }
        .map { ($0, 0) }
    }

    /// 1 when the answer states 1 as the first position of a parameter that may count from 1. `nil` otherwise.
    private func firstOffset(of name: String) -> Int? {
        ParameterNames.countedFromOne.contains(name)
            && members.contains { $0.name == name && document.integer($0.value) == 1 } ? 1 : nil
    }

    private func pageParameter(_ next: OriginURL?) -> (name: String, first: Int)? {
        for name in [configuration.pageParameter].compactMap(\.self) + ParameterNames.page {
            let here = answer.url.value(of: name).flatMap { Int($0) }
            if let value = next?.value(of: name).flatMap({ Int($0) }), value == 1 || value == 2,
                here.map({ $0 == value - 1 }) ?? true
            {
                return (name, value - 1)
            }
        }
        // `offset: 1` in the answer and `offset=2` in its next URL number pages.
        for name in ParameterNames.offset {
            guard let value = next?.value(of: name).flatMap({ Int($0) }), value == 2,
                members.contains(where: { $0.name == name && document.integer($0.value) == 1 })
            else { continue }
            return (name, 1)
        }
        guard next == nil else { return nil }
        return ["page", "_page", "page_number", "pageNumber", "page[number]", "pagination[page]"].lazy.compactMap {
            name in
            self.answer.url.value(of: name).flatMap { Int($0) }.map { (name, $0 == 0 ? 0 : 1) }
        }.first
    }

    private func limitParameter(_ next: OriginURL?, count: Int) -> String? {
        ParameterNames.limit.first { next?.value(of: $0).flatMap { Int($0) } == count }
            ?? ParameterNames.size(in: answer.url)
    }

    /// Names of members that state the size of a page.
    static let sizeNames: Set<String> = [
        "limit", "perpage", "pagesize", "pagelen", "itemsperpage", "maxresults", "size", "hitsperpage", "rows",
    ]

    /// Whether a size under this plain name may be the number of items of the page.
    private static func mayCountPage(_ name: String) -> Bool { ["size", "rows", "maxresults"].contains(name) }

    /// Compares the requested page size with the number of items in page one. A warning reports a difference, unless
    /// page one is short because the list ends.
    func findSize(_ draft: inout DetectionDraft) {
        let stated = members.filter { Detector.sizeNames.contains($0.plainName) }.compactMap { member in
            document.integer(member.value).map { (name: member.plainName, size: $0) }
        }
        let largest = stated.map(\.size).max() ?? 0, count = draft.evidence.count
        // `size: 3` next to `limit: 25` and 3 items counts the page. A size such as `per_page` never does.
        draft.evidence.sizes = stated.filter { $0.size != count || largest == count || !Detector.mayCountPage($0.name) }
            .map(\.size)
        let evidence = draft.evidence
        guard let name = draft.description.limitParameter, let asked = answer.url.value(of: name).flatMap({ Int($0) }),
            evidence.count > 0,
            evidence.count > asked
                || (evidence.count < asked && (evidence.goesOn || evidence.exactTotal ?? 0 > evidence.count))
        else { return }
        if let cap = statedSize(below: asked, atLeast: evidence.count) {
            draft.description.largestSize = cap.size
            draft.explain("size", "at most \(cap.size)", .seen, cap.pointer.description)
            draft.warnings.append("the origin returns at most \(cap.size) items a page; \(asked) were requested")
        } else {
            draft.description.ignoresSize = true
            draft.explain("size", name, .failed, "requested \(asked) items, received \(evidence.count)")
            draft.warnings.append(
                "requested \(asked) items a page (\(name)), and the origin returns \(evidence.count); \(HTTPSourceConfiguration.Setting.limitParameter) names another parameter"
            )
        }
    }

    /// A cap that the body states: under a name for one, or as a size smaller than the requested one.
    private func statedSize(below asked: Int, atLeast count: Int) -> (pointer: JSONPointer, size: Int)? {
        let names: Set<String> = [
            "maxperpage", "maxpagesize", "maxlimit", "limitmax", "perpagemax", "maxsize", "limit", "perpage",
            "pagesize", "size",
            "itemsperpage",
        ]
        return members.lazy.compactMap { member in
            guard names.contains(member.plainName), let size = self.document.integer(member.value), size >= count,
                size < asked
            else { return nil }
            return (member.pointer, size)
        }.first
    }
}
