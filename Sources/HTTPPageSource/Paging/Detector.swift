import PageModel

/// Works out from an origin's first answer how it pages and where things stand: pure, by evidence, never by name of
/// a server. What the caller said is not questioned.
struct Detector {
    private let answer: Answer
    private let configuration: HTTPSourceConfiguration
    private var document: JSONDocument { answer.document }

    /// - Throws: `undecodable` when there are no items to be found.
    static func describe(_ answer: Answer, _ configuration: HTTPSourceConfiguration) throws(FetchFailure) -> SourceLessonDraft {
        try Detector(answer: answer, configuration: configuration).describe()
    }

    private init(answer: Answer, configuration: HTTPSourceConfiguration) {
        self.answer = answer
        self.configuration = configuration
    }

    private func describe() throws(FetchFailure) -> SourceLessonDraft {
        guard let items = itemsPointer() else {
            // No array anywhere: an empty list, if a total of 0 says so.
            guard let total = totalPlace(itemCount: 0, hasNext: false, items: nil), answer.number(at: total) == 0 else {
                throw FetchFailure(
                    .undecodable, "the answer has no array of items; name it with --items", isRetryable: false,
                    httpStatus: answer.response.status)
            }
            var draft = SourceLessonDraft(description: SourceDescription(style: .none, url: answer.url.text, items: JSONPointer(tokens: ["items"])))
            draft.description.total = total
            draft.isProvisional = true
            return draft
        }
        let elements = document.value(at: items).map { document.elements(of: $0) } ?? []
        var description = SourceDescription(style: .none, url: answer.url.text, items: items)
        description.id = configuration.id ?? idPointer(elements)
        description.hasMore = configuration.hasMore
        description.next = configuration.next ?? nextPlace()
        let nextURL = description.next.flatMap { answer.text(at: $0) }.flatMap { answer.url.resolving($0) }
        let hasNext = nextURL != nil
        description.total = configuration.total ?? totalPlace(itemCount: elements.count, hasNext: hasNext, items: items)
        let total = description.total.flatMap { answer.number(at: $0) }

        description.limitParameter = configuration.limitParameter ?? limitParameter(nextURL, count: elements.count)
        description.offsetParameter = configuration.offsetParameter ?? offsetParameter(nextURL, count: elements.count)
        description.firstPage = configuration.firstPage
        description.pageParameter = configuration.pageParameter
        if let (name, first) = pageParameter(nextURL) {
            description.pageParameter = description.pageParameter ?? name
            description.firstPage = description.firstPage ?? first
        }

        var draft = SourceLessonDraft(description: description)
        choose(&draft, elements: elements.count, total: total, hasNext: hasNext)
        return draft
    }

    // MARK: The style

    private func choose(_ draft: inout SourceLessonDraft, elements: Int, total: Int?, hasNext: Bool) {
        switch configuration.paging {
        case .offset:
            draft.description.style = .offset
            draft.description.offsetParameter = draft.description.offsetParameter ?? "offset"
        case .page:
            draft.description.style = .page
            draft.description.pageParameter = draft.description.pageParameter ?? "page"
        case .link:
            draft.description.style = .link
            draft.description.next = configuration.next ?? .header("Link")
        case .nextURL:
            draft.description.style = .nextURL
            if !hasNext { draft.warnings.append("the first answer has no next URL; taken for the whole list") }
        case .none:
            draft.description.style = .none
        case .auto:
            chooseByEvidence(&draft, elements: elements, total: total, hasNext: hasNext)
        }
        if draft.description.style == .page {
            draft.description.firstPage = draft.description.firstPage ?? 1
            draft.description.gridSize = max(elements, 1)
        }
    }

    private func chooseByEvidence(_ draft: inout SourceLessonDraft, elements: Int, total: Int?, hasNext: Bool) {
        if elements == 0 || (total.map { $0 <= elements } ?? false && !hasNext) {
            // Everything is here, or nothing is: how it would page cannot be seen, nor is it needed. The next first
            // answer is looked at again.
            draft.description.style = .none
            draft.isProvisional = true
            return
        }
        // Random access first: it allows pages in parallel, and one of them again. It takes a total to know how many.
        if total != nil, draft.description.offsetParameter != nil {
            draft.description.style = .offset
        } else if total != nil, draft.description.pageParameter != nil {
            draft.description.style = .page
        } else if hasNext {
            if case .header = draft.description.next { draft.description.style = .link } else { draft.description.style = .nextURL }
        } else {
            draft.description.style = .none
            draft.wantsProbes = true
        }
    }

    // MARK: Items

    private func itemsPointer() -> JSONPointer? {
        if let items = configuration.items {
            // A wrong pointer is a wrong flag, and is told at once; an absent member may be an empty list.
            return items
        }
        let top = JSONPointer(tokens: [])
        if document.kind(of: document.root) == .array { return top }
        var candidates: [(pointer: JSONPointer, rank: Int, count: Int)] = []
        collect(document.root, top, depth: 0, into: &candidates)
        // Arrays of objects before arrays of anything else, longer before shorter, what stands first before the rest.
        return candidates.enumerated().max(by: { left, right in
            (left.element.rank, left.element.count, -left.offset) < (right.element.rank, right.element.count, -right.offset)
        })?.element.pointer
    }

    private func collect(
        _ object: JSONValue, _ pointer: JSONPointer, depth: Int,
        into candidates: inout [(pointer: JSONPointer, rank: Int, count: Int)]
    ) {
        for (name, value) in document.members(of: object) {
            switch document.kind(of: value) {
            case .array:
                let elements = document.elements(of: value)
                let rank: Int
                if elements.isEmpty {
                    rank = ["items", "results", "data", "records", "entries", "values", "rows", "objects"].contains(name) ? 1 : 0
                } else {
                    rank = elements.allSatisfy { document.kind(of: $0) == .object } ? 3 : elements.allSatisfy {
                        document.scalarText($0) != nil
                    } ? 2 : 0
                }
                candidates.append((pointer.appending(name), rank, elements.count))
            case .object where depth < 2:
                collect(value, pointer.appending(name), depth: depth + 1, into: &candidates)
            case .object, .string, .number, .boolean, .null:
                break
            }
        }
    }

    /// A member that names each item: scalar, in every item, different in every item of the page.
    private func idPointer(_ elements: [JSONValue]) -> JSONPointer? {
        guard let first = elements.first else { return nil }
        guard document.kind(of: first) == .object else {
            let itself = JSONPointer(tokens: [])
            return isUnique(itself, elements) ? itself : nil
        }
        // Some origins say which member is the key.
        var names: [String] = []
        for member in ["primary_keys", "primary_key", "primaryKey", "idField", "id_field"] {
            guard let value = document.member(member, of: document.root) else { continue }
            let keys = document.kind(of: value) == .array ? document.elements(of: value) : [value]
            // A key of several members is none of them alone.
            if keys.count == 1, let key = keys.first.flatMap({ document.string($0) }) { names.append(key) }
        }
        names += ["id", "_id", "uuid", "guid", "key", "_key", "rowid", "pk", "uid", "ID", "Id", "slug", "sha", "urn", "uri", "url", "href"]
        return names.map { JSONPointer(tokens: [$0]) }.first { isUnique($0, elements) }
    }

    private func isUnique(_ pointer: JSONPointer, _ elements: [JSONValue]) -> Bool {
        let ids = elements.compactMap { document.value(at: pointer, below: $0) }.compactMap { document.scalarText($0) }
        return ids.count == elements.count && Set(ids).count == ids.count
    }

    // MARK: Total

    private func totalPlace(itemCount: Int, hasNext: Bool, items: JSONPointer?) -> HTTPSourceConfiguration.Place? {
        var best: (place: HTTPSourceConfiguration.Place, rank: Int)?
        func consider(_ place: HTTPSourceConfiguration.Place, _ name: String, _ number: Int?) {
            // A total is no smaller than the page. With more to come, a number equal to the page's length counts the
            // page and not the list.
            guard let number, number >= itemCount, !(hasNext && number == itemCount), let rank = totalRank(name) else { return }
            if best.map({ rank > $0.rank }) ?? true { best = (place, rank) }
        }
        func search(_ object: JSONValue, _ pointer: JSONPointer, depth: Int) {
            for (name, value) in document.members(of: object) where pointer.appending(name) != items {
                switch document.kind(of: value) {
                case .number, .string: consider(.body(pointer.appending(name)), name, document.integer(value))
                case .object where depth < 2: search(value, pointer.appending(name), depth: depth + 1)
                case .object, .array, .boolean, .null: break
                }
            }
        }
        search(document.root, JSONPointer(tokens: []), depth: 0)
        for field in answer.response.headers {
            consider(.header(field.name), field.name, JSONText.wholeNumber(field.value))
        }
        if let range = answer.response.header("Content-Range"), range.contains("/") {
            consider(.header("Content-Range"), "total-count", answer.number(at: .header("Content-Range")))
        }
        return best?.place
    }

    /// How much a name speaks for a total of items; nil when it does not.
    private func totalRank(_ name: String) -> Int? {
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        // `totalPages` counts pages, not items.
        if plain.contains("page") || plain.contains("length") || plain.contains("time") { return nil }
        if ["total", "totalcount", "totalitems", "totalresults", "totalrecords", "totalelements", "xtotalcount", "xtotal", "xwptotal",
            "totalobjects", "totalhits"].contains(plain) { return 4 }
        if plain == "count" || plain == "itemscount" || plain == "numfound" || plain == "hits" { return 3 }
        if plain.hasSuffix("count") { return 2 }
        if plain.contains("total") { return 1 }
        return nil
    }

    // MARK: Next

    private func nextPlace() -> HTTPSourceConfiguration.Place? {
        if let link = answer.response.header("Link"), LinkHeader.target(rel: "next", in: link) != nil {
            return .header("Link")
        }
        // A header of the origin's own, such as Next-Page, that holds a URL.
        if let own = answer.response.headers.first(where: { $0.name.lowercased().contains("next") && looksLikeURL($0.value) }) {
            return .header(own.name)
        }
        let names = ["next_url", "nextUrl", "nextURL", "next", "next_page_url", "nextPageUrl", "next_page", "nextLink", "@odata.nextLink", "next_href"]
        let places = ["", "/links", "/_links", "/paging", "/pagination", "/meta", "/response"]
        for place in places {
            guard let pointer = JSONPointer(place), let object = document.value(at: pointer), document.kind(of: object) == .object
            else { continue }
            for name in names {
                for candidate in [pointer.appending(name), pointer.appending(name).appending("href")] {
                    if let text = document.value(at: candidate).flatMap({ document.string($0) }), looksLikeURL(text) {
                        return .body(candidate)
                    }
                }
            }
        }
        return nil
    }

    private func looksLikeURL(_ text: String) -> Bool {
        text.hasPrefix("http://") || text.hasPrefix("https://") || text.hasPrefix("/") || text.hasPrefix("?")
    }

    // MARK: Parameters

    /// A parameter of the next URL that counts exactly what this page holds, or one the first URL already has.
    private func offsetParameter(_ next: OriginURL?, count: Int) -> String? {
        guard count > 0 else { return nil }
        for name in ParameterNames.offset {
            let start = answer.url.value(of: name).map { Int($0) } ?? 0
            if let start, let value = next?.value(of: name).flatMap({ Int($0) }), value == start + count { return name }
        }
        return next == nil ? ["offset", "skip", "_start"].first { answer.url.value(of: $0) != nil } : nil
    }

    private func pageParameter(_ next: OriginURL?) -> (name: String, first: Int)? {
        for name in ParameterNames.page {
            let here = answer.url.value(of: name).flatMap { Int($0) }
            if let value = next?.value(of: name).flatMap({ Int($0) }), value == 1 || value == 2, here.map({ $0 == value - 1 }) ?? true {
                return (name, value - 1)
            }
        }
        guard next == nil else { return nil }
        return ["page", "_page", "page_number", "pageNumber"].lazy.compactMap { name in
            self.answer.url.value(of: name).flatMap { Int($0) }.map { (name, $0 == 0 ? 0 : 1) }
        }.first
    }

    private func limitParameter(_ next: OriginURL?, count: Int) -> String? {
        ParameterNames.limit.first { name in
            next?.value(of: name).flatMap { Int($0) } == count || answer.url.value(of: name).flatMap { Int($0) } != nil
        }
    }
}

/// What detection came to, before it is proved where it needs proof.
struct SourceLessonDraft {
    var description: SourceDescription
    var warnings: [String] = []
    /// The answer does not show how it goes on; asking for a second page in the usual ways may.
    var wantsProbes = false
    /// Too little was seen to remember it.
    var isProvisional = false

    init(description: SourceDescription) {
        self.description = description
    }
}
