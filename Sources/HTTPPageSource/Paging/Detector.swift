import PageModel

/// Detects the layout of an answer, and its evidence of how the list continues, from an origin's first answer.
/// Detection is pure, and uses evidence only, never the name of a server. Settings of the caller are not questioned.
/// Every finding is recorded with its reason.
struct Detector {
    let answer: Answer
    let configuration: HTTPSourceConfiguration
    /// Members of the envelope, nearest to the top first.
    let members: [EnvelopeMember]
    var document: JSONDocument { answer.document }

    /// - Throws: `FetchFailure` with class `undecodable` when the answer has no items.
    static func describe(_ answer: Answer, _ configuration: HTTPSourceConfiguration) throws(FetchFailure)
        -> DetectionDraft
    {
        try Detector(answer: answer, configuration: configuration).describe()
    }

    private init(answer: Answer, configuration: HTTPSourceConfiguration) {
        self.answer = answer
        self.configuration = configuration
        members = answer.document.envelope()
    }

    private func describe() throws(FetchFailure) -> DetectionDraft {
        guard let list = itemsPointer() else { return try withoutItems() }
        var draft = DetectionDraft(
            description: SourceDescription(style: .none, url: answer.url.text, items: list.pointer))
        draft.description.said = configuration.saying
        draft.explain(
            "items", draft.description.items.tokens.isEmpty ? "the top" : list.pointer.description,
            configuration.items != nil ? .said : .seen)
        if let rival = list.rival {
            draft.warnings.append(
                "the items are taken from \(list.pointer); there are others at \(rival): choose with --items")
        }
        let elements =
            document.value(at: list.pointer).map {
                document.elements(of: $0, atMost: configuration.limits.itemsPerPage + 1)
            } ?? []
        draft.evidence.count = elements.count

        draft.description.id = configuration.id ?? idPointer(elements)
        draft.evidence.hasIDs = draft.description.id != nil
        draft.evidence.sortKey = sortKey(elements)
        draft.explain(
            "id", draft.description.id.map(SourceDescription.named) ?? "none", configuration.id != nil ? .said : .seen)

        findNext(&draft)
        findMore(&draft)
        findTotal(&draft)
        findParameters(&draft)
        findSize(&draft)
        findHints(&draft, elements)
        return draft
    }

    /// The draft for an answer without an array. The list is empty when a total of 0 or the origin's statement says so.
    private func withoutItems() throws(FetchFailure) -> DetectionDraft {
        var draft = DetectionDraft(
            description: SourceDescription(style: .none, url: answer.url.text, items: JSONPointer(tokens: ["items"])))
        draft.description.said = configuration.saying
        findMore(&draft)
        findTotal(&draft)
        guard draft.evidence.total == .exact(0) || draft.evidence.hasMore == false else {
            throw FetchFailure(
                .undecodable, "the answer has no array of items; name it with --items", isRetryable: false,
                httpStatus: answer.response.status)
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

    static func plain(_ name: String) -> String {
        name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != "@" && $0 != "$" }
    }
}

extension JSONDocument {
    /// The members of the outermost object, then of the objects in it, two levels deep. Arrays are not searched.
    func envelope() -> [EnvelopeMember] {
        var found: [EnvelopeMember] = []
        var level: [(pointer: JSONPointer, name: String?, value: JSONValue)] = [(JSONPointer(tokens: []), nil, root)]
        for _ in 0...2 {
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
}
