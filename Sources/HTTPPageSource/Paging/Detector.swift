import PageModel

/// Detects the layout of an answer, and its evidence of how the list continues, from an origin's first answer.
/// Detection is pure, and uses evidence only, never the name of a server. Settings of the caller come first, and are
/// confirmed later. Every finding is recorded with its reason.
struct Detector {
    let answer: Answer
    let configuration: HTTPSourceConfiguration
    /// Members of the envelope, nearest to the top first.
    private(set) var members: [EnvelopeMember]
    var document: JSONDocument { answer.document }

    /// - Throws: `FetchFailure` with class `undecodable` when the answer has no list of items, leaves open which of
    ///   several lists holds them, or states a failure.
    static func describe(_ answer: Answer, _ configuration: HTTPSourceConfiguration) throws(FetchFailure)
        -> DetectionDraft
    {
        var detector = Detector(answer: answer, configuration: configuration)
        return try detector.describe()
    }

    private init(answer: Answer, configuration: HTTPSourceConfiguration) {
        self.answer = answer
        self.configuration = configuration
        members = answer.document.envelope()
    }

    private mutating func describe() throws(FetchFailure) -> DetectionDraft {
        guard let found = itemsPointer() else { return try withoutItems() }
        let list = try countedEmpty(found)
        // If an object holds the items, their members are not evidence.
        members.removeAll { list.pointer.isAbove($0.pointer) }
        var draft = DetectionDraft(
            description: PagingProfile(style: .none, url: answer.url.text, items: list.pointer))
        draft.description.said = configuration.saying
        if let value = document.value(at: list.pointer), document.kind(of: value) == .object {
            draft.description.isKeyed = true
        }
        draft.explain(
            "items", draft.description.items.tokens.isEmpty ? "the top" : list.pointer.description,
            configuration.items != nil ? .said : .seen)
        if list.isTied, let rival = list.rival, !isCounted(list) {
            guard list.isRivalEmpty else { throw Detector.twoLists(list.pointer, rival, in: answer) }
            draft.evidence.emptyRival = rival
        }
        if configuration.items == nil, let map = mapOfLists(around: list.pointer) {
            throw FetchFailure(
                .undecodable,
                "each member of \(map) may hold a list, such as \(list.pointer): choose with \(HTTPSourceConfiguration.Setting.items)",
                isRetryable: false, httpStatus: answer.response.status)
        }
        if let rival = list.rival, draft.evidence.emptyRival == nil {
            draft.warnings.append(
                "the items are taken from \(list.pointer); \(rival) holds a list, too: choose with \(HTTPSourceConfiguration.Setting.items)"
            )
        }
        let elements =
            document.value(at: list.pointer).map {
                document.entries(of: $0, atMost: configuration.limits.itemsPerPage + 1)
            } ?? []
        if elements.isEmpty, let failure = answer.failure(withoutItemsAt: list.pointer) { throw failure }
        draft.evidence.count = elements.count
        draft.evidence.isBare = list.pointer.tokens.isEmpty

        draft.description.id = configuration.id ?? list.key ?? idPointer(elements, named: list.pointer.tokens.last)
        draft.evidence.hasIDs = draft.description.id != nil
        draft.evidence.innerList = innerList(of: elements, at: list.pointer, hasIDs: draft.evidence.hasIDs)
        draft.evidence.sortKey = sortKey(elements)
        draft.explain(
            "id", draft.description.id.map(PagingProfile.named) ?? "none", configuration.id != nil ? .said : .seen)

        findNext(&draft)
        findMore(&draft)
        findRemaining(&draft)
        findTotal(&draft)
        findPlainToken(&draft)
        findParameters(&draft)
        findSize(&draft)
        findHints(&draft, elements)
        return draft
    }

    /// The failure for an answer with two plausible lists.
    static func twoLists(_ list: JSONPointer, _ rival: JSONPointer, in answer: Answer) -> FetchFailure {
        FetchFailure(
            .undecodable,
            "the answer has two lists, \(list) and \(rival): choose with \(HTTPSourceConfiguration.Setting.items)",
            isRetryable: false, httpStatus: answer.response.status)
    }

    /// The draft for an answer without an array. The list is empty when a total of 0 or the origin's statement says so.
    private func withoutItems() throws(FetchFailure) -> DetectionDraft {
        if let failure = answer.failure(withoutItemsAt: nil) { throw failure }
        var draft = DetectionDraft(
            description: PagingProfile(style: .none, url: answer.url.text, items: JSONPointer(tokens: ["items"])))
        draft.description.said = configuration.saying
        findMore(&draft)
        findTotal(&draft)
        guard draft.evidence.total == .exact(0) || draft.evidence.hasMore == false else {
            let keyed = keyedObjects.first.map { pointer in
                pointer.tokens.isEmpty
                    ? "the members of the answer itself look like items: \(HTTPSourceConfiguration.Setting.items.assigned("''"))"
                    : "the members of \(pointer.description) look like items: \(HTTPSourceConfiguration.Setting.items.assigned(pointer))"
            }
            throw FetchFailure(
                .undecodable,
                "the answer has no array of items; \(keyed ?? "name the place of the items with \(HTTPSourceConfiguration.Setting.items), or check the URL")",
                isRetryable: false, httpStatus: answer.response.status)
        }
        draft.explain("items", "none", .seen, "the list is empty, and the answer has no array")
        draft.description.isProvisional = true
        return draft
    }
}

/// A member of the JSON around the items.
struct EnvelopeMember {
    var pointer: JSONPointer
    var name: String
    var value: JSONValue
    var kind: JSONKind
    /// The name of the object that holds the member. `nil` at the top.
    var parent: String?

    /// The name in lower case, without `_`, `-`, `@` and `$`.
    var plainName: String { EnvelopeMember.plain(name) }

    /// Any name in lower case, without `_`, `-`, `@` and `$`. The prefix of a namespace is left out:
    /// `opensearch:totalResults`.
    static func plain(_ name: String) -> String {
        (name.split(separator: ":").last ?? "").lowercased().filter { $0 != "_" && $0 != "-" && $0 != "@" && $0 != "$" }
    }
}

extension JSONDocument {
    /// The members of the outermost object, then of the objects in it, down to four levels below. Arrays are not
    /// searched, except the outermost one if it holds the items and an object next to them.
    func envelope() -> [EnvelopeMember] {
        var found: [EnvelopeMember] = []
        var level: [(pointer: JSONPointer, name: String?, value: JSONValue)] = [(JSONPointer(tokens: []), nil, root)]
        if pairedItems != nil {
            level = elements(of: root).enumerated().map { (JSONPointer(tokens: ["\($0)"]), nil, $1) }
        }
        for _ in 0...4 {
            var below: [(pointer: JSONPointer, name: String?, value: JSONValue)] = []
            for object in level where found.count < JSONDocument.mostMembers {
                for (name, value) in members(of: object.value) {
                    let pointer = object.pointer.appending(name)
                    let kind = kind(of: value)
                    found.append(
                        EnvelopeMember(pointer: pointer, name: name, value: value, kind: kind, parent: object.name))
                    if kind == .object { below.append((pointer, name, value)) }
                }
            }
            level = below
        }
        return found
    }

    /// The index of the items in an outermost array of two to four elements: the only array next to at least one object
    /// (`[{"page":1,"pages":7},[…]]`). Returns nil for any other value.
    var pairedItems: Int? {
        let parts = elements(of: root, atMost: 5)
        guard (2...4).contains(parts.count) else { return nil }
        let arrays = parts.indices.filter { kind(of: parts[$0]) == .array }
        guard arrays.count == 1, parts.contains(where: { kind(of: $0) == .object }) else { return nil }
        return arrays.first
    }

    /// The items of a list: the elements of an array, or the values of an object whose names are the items' keys.
    func entries(of list: JSONValue, atMost limit: Int = .max) -> [JSONValue] {
        guard kind(of: list) == .object else { return elements(of: list, atMost: limit) }
        return values(of: list, atMost: limit)
    }
}

extension JSONPointer {
    /// Whether `other` lies below this place. False for the pointer to the whole document.
    func isAbove(_ other: JSONPointer) -> Bool {
        other.tokens.count > tokens.count && other.tokens.starts(with: tokens) && !tokens.isEmpty
    }
}
