import PageModel

// Parameters that the answer or the URL suggests (hints). Hints are tried before the merely common names, and kept only
// after a proof.
extension Detector {
    func findHints(_ draft: inout DetectionDraft, _ elements: [JSONValue]) {
        draft.evidence.hints = echoes() + linked() + partners() + ownKeys(elements)
        draft.evidence.suggestion = suggestion(draft)
    }

    /// Parameters that the answer repeats, with their default values: `start: 0`, `page: 1`, `pagination: {page: 1}`.
    func echoes() -> [Candidate] {
        var found: [Candidate] = []
        // ArcGIS and similar origins state that a limit cut the answer, and take a position under this name.
        if members.contains(where: { $0.plainName == "exceededtransferlimit" }) {
            found.append(.offset("resultOffset"))
        }
        // `kind: "books#volumes"`: this family of APIs has a token in the answer, or takes a position of these names.
        if members.contains(where: { $0.name == "kind" && document.string($0.value)?.contains("#") == true }) {
            found += [.offset("startIndex"), .offset("start")]
        }
        for member in members where member.kind == .number {
            guard let number = document.integer(member.value), number == 0 || number == 1 else { continue }
            // Parameters of this nested form are common in JSON:API and many frameworks.
            let holder = member.parent.flatMap {
                ["page", "pagination", "paging"].contains(EnvelopeMember.plain($0)) ? $0 : nil
            }
            let nested = holder.map { "\($0)[\(member.name)]" }
            if ParameterNames.offset.contains(member.name),
                number == 0 || ParameterNames.countedFromOne.contains(member.name)
            {
                // An origin whose other parameters begin with `$` may name this one so, too.
                let styled =
                    answer.url.parameters.contains { $0.plainName.hasPrefix("$") } && !member.name.hasPrefix("$")
                    ? "$" + member.name : nil
                found += [styled, member.name, nested].compactMap(\.self).map { .offset($0, first: number) }
            } else if ParameterNames.offset.contains(member.name) {
                // `offset: 1` on page one numbers pages.
                found.append(.page(member.name, first: 1))
            } else if Detector.pageNames.contains(member.plainName) {
                let isOwn = ParameterNames.page.contains(member.name) || isBesideEchoedSize(member)
                let own = isOwn ? member.name : nil
                found += [own, nested].compactMap(\.self).map { .page($0, first: configuration.firstPage) }
            }
        }
        return found
    }

    /// Whether the answer repeats the size parameter of the URL next to this member: `pageSize=50` in the URL, and
    /// `{currentPage: 1, pageSize: 50}`. The origin then also names the page number as its parameter.
    private func isBesideEchoedSize(_ member: EnvelopeMember) -> Bool {
        guard let size = ParameterNames.size(in: answer.url) else { return false }
        let holder = member.pointer.tokens.dropLast()
        return members.contains {
            $0.name == size && $0.pointer.tokens.dropLast() == holder && text($0) == answer.url.value(of: size)
        }
    }

    /// Position parameters in the answer's links to itself, to its first and to its last page. A page one without a
    /// next link may have such links: `links: {self: "/things?page[offset]=0"}`.
    private func linked() -> [Candidate] {
        let pages = members.filter { ["self", "first", "firstpage", "last", "lastpage"].contains($0.plainName) }
        let urls = pages.compactMap { document.string($0.value) }.compactMap { answer.url.resolving($0) }
        return urls.flatMap { url -> [Candidate] in
            let found = url.parameters.map(\.plainName).filter { url.value(of: $0).flatMap { Int($0) } != nil }
            return found.filter(ParameterNames.offset.contains).map { .offset($0) }
                + found.filter(ParameterNames.page.contains).map { .page($0, first: configuration.firstPage) }
        }
    }

    /// Position parameters that usually go with a size parameter of this name.
    private static let partners: [(size: String, places: [Candidate])] = [
        ("$top", [.offset("$skip")]), ("top", [.offset("skip")]), ("take", [.offset("skip")]),
        ("rows", [.offset("start")]),
        ("_limit", [.offset("_start"), .page("_page", first: nil), .offset("_skip")]),
        ("_per_page", [.page("_page", first: nil)]),
        ("per_page", [.page("page", first: nil)]), ("perPage", [.page("page", first: nil)]),
        ("page_size", [.page("page", first: nil)]),
        ("pageSize", [.page("page", first: nil), .page("pageNumber", first: nil)]),
        ("hitsPerPage", [.page("page", first: nil)]),
        ("page[size]", [.page("page[number]", first: nil)]), ("page[limit]", [.offset("page[offset]")]),
        ("pagination[pageSize]", [.page("pagination[page]", first: nil)]),
        ("pagination[limit]", [.offset("pagination[start]")]),
        ("maxResults", [.offset("startAt"), .offset("startIndex"), .offset("firstResult")]),
        ("resultRecordCount", [.offset("resultOffset")]),
        ("limit", [.offset("offset"), .offset("skip")]),
        ("size", [.offset("from"), .page("page", first: nil)]),
        ("count", [.offset("startIndex"), .offset("offset"), .offset("start")]),
        ("$limit", [.offset("$offset"), .offset("$skip")]), ("max", [.offset("first"), .offset("offset")]),
        ("ps", [.page("p", first: nil)]), ("retmax", [.offset("retstart")]),
        ("@page_size", [.page("@page_index", first: nil)]), ("pagelen", [.page("page", first: nil)]),
        ("maxRecords", [.offset("startRecord")]), ("num", [.offset("start")]),
        ("pagesize", [.page("page", first: nil)]),
        ("page_size", [.page("page", first: nil), .page("page_number", first: nil), .page("page_index", first: nil)]),
    ]

    private func partners() -> [Candidate] {
        let numbers = answer.url.parameters.filter { Int($0.plainValue) != nil }.map(\.plainName)
        return Detector.partners.filter { answer.url.value(of: $0.size).flatMap { Int($0) } != nil }.flatMap(\.places)
            + numbers.flatMap { Detector.bracketed($0) }
            + numbers.filter { name in !Detector.partners.contains { $0.size == name } }
            .flatMap { WordedName($0).partnersOfSize }
    }

    /// The partners of a size in brackets: `X[pageSize]` goes with `X[number]`, `X[page]` and `X[currentPage]`, and
    /// `X[limit]` with `X[offset]` and `X[start]`.
    private static func bracketed(_ name: String) -> [Candidate] {
        guard name.hasSuffix("]"), let open = name.lastIndex(of: "[") else { return [] }
        let holder = name[..<open], inner = name[name.index(after: open)...].dropLast()
        switch EnvelopeMember.plain(String(inner)) {
        case "pagesize", "perpage", "size":
            return ["number", "page", "currentPage"].map { .page("\(holder)[\($0)]", first: nil) }
        case "limit":
            return ["offset", "start"].map { .offset("\(holder)[\($0)]") }
        case _:
            return []
        }
    }

    /// A message with the settings that try a member next to the items, whose name suggests the next page. Returns nil
    /// without such a member, and for an answer with a token.
    private func suggestion(_ draft: DetectionDraft) -> String? {
        let holder = draft.description.items.tokens.dropLast()
        let words = ["last", "end", "next", "offset", "cursor", "token", "marker", "bookmark", "iterator", "position"]
        let others = ["total", "count", "page", "limit", "size", "date", "time", "request", "has", "is"]
        let found = members.first { member in
            let name = member.plainName
            // The position of this page leads to no other page.
            guard [.string, .number].contains(member.kind), !ParameterNames.offset.contains(member.name),
                holder.starts(with: member.pointer.tokens.dropLast()),
                document.scalarText(member.value).map({ !$0.isEmpty && $0 != "0" }) ?? false
            else { return false }
            return words.contains { name.contains($0) } && !others.contains { name.hasPrefix($0) || name.hasSuffix($0) }
        }
        guard let member = draft.evidence.token == nil ? found : nil else { return nil }
        typealias Setting = HTTPSourceConfiguration.Setting
        let settings = [
            Setting.paging.assigned("cursor"), Setting.next.assigned(member.pointer),
            configuration.method == .post
                ? Setting.cursorIn.assigned("/NAME") : Setting.cursorParameter.assigned("NAME"),
        ]
        return "\(member.pointer) may lead to it: \(settings.joined(separator: ", "))"
    }

    /// Candidates from a key inside each item: its sort value, or a cursor of its own.
    private func ownKeys(_ elements: [JSONValue]) -> [Candidate] {
        let sortValue = JSONPointer(tokens: ["sort", "0"]), second = JSONPointer(tokens: ["sort", "1"]),
            cursor = JSONPointer(tokens: ["cursor"])
        guard elements.count > 1 else { return [] }
        // With several sort values, no single one shows where the list continues. A body takes all of them.
        let isSingle = elements.allSatisfy { document.value(at: second, below: $0) == nil }
        if isSingle, isUnique(sortValue, elements) { return [.keyset("search_after", key: sortValue)] }
        if configuration.method == .post, elements.allSatisfy({ document.value(at: second, below: $0) != nil }) {
            return [.keyset("search_after", key: JSONPointer(tokens: ["sort"]))]
        }
        return isUnique(cursor, elements) ? [.keyset("after", key: cursor), .keyset("cursor", key: cursor)] : []
    }
}
