import PageModel

// The member that identifies an item.
extension Detector {
    /// A member that identifies each item of the page: a scalar, present and different in every item.
    /// - Parameter list: the name of the list. The member `place_id` of an item in `places` is its id.
    func idPointer(_ elements: [JSONValue], named list: String?) -> JSONPointer? {
        guard let first = elements.first else { return nil }
        guard document.kind(of: first) == .object else {
            let itself = JSONPointer(tokens: [])
            return isUnique(itself, elements) ? itself : nil
        }
        let names =
            namedByAnswer + [
                "id", "_id", "uuid", "guid", "key", "_key", "rowid", "pk", "uid", "ID", "Id", "objectID", "objectId",
                "@id", "slug", "sha", "urn", "uri", "url", "href",
                "signature", "hash", "txid",
            ]
        // In hypermedia, an item may have only its own address as its id. Other items have their id one level below.
        let below = [
            ["_links", "self", "href"], ["links", "self"], ["metadata", "uid"], ["sys", "id"], ["data", "id"],
            ["data", "name"], ["attributes", "id"], ["properties", "id"], ["node", "id"], ["resource", "id"],
        ]
        let named = namedByAnswer.flatMap { [["attributes", $0], ["properties", $0]] }
        let places = names.map { JSONPointer(tokens: [$0]) } + (named + below).map { JSONPointer(tokens: $0) }
        return places.first { isUnique($0, elements) } ?? suffixed(elements, named: list)
    }

    /// The member that the answer names as the key of an item. Empty without one, and for a key of several members.
    private var namedByAnswer: [String] {
        var names: [String] = []
        for member in [
            "primary_keys", "primary_key", "primaryKey", "idField", "id_field", "objectIdFieldName", "idFieldName",
        ] {
            guard let value = document.member(member, of: document.root) else { continue }
            let keys = document.kind(of: value) == .array ? document.elements(of: value, atMost: 2) : [value]
            // With a key of several members, no single member is the key.
            if keys.count == 1, let key = keys.first.flatMap({ document.string($0) }) { names.append(key) }
        }
        return names
    }

    /// Returns a member whose name ends in `id`, `Id` or `ID`. A member whose name also names the list, or is in the
    /// path of the URL, comes first. Without one, returns the only such member that differs in each of at least five
    /// items. A member such as `user_id` refers to another thing: items that share it would replace one another (R5).
    private func suffixed(_ elements: [JSONValue], named list: String?) -> JSONPointer? {
        guard elements.count > 1, let first = elements.first else { return nil }
        let found = document.members(of: first).map(\.name).filter(Detector.isIDName)
        let words = [list, answer.url.path].compactMap { $0.map(EnvelopeMember.plain) }
        let own = found.first { name in
            let stem = EnvelopeMember.plain(Detector.stem(of: name))
            return stem.count >= 3 && words.contains { $0.contains(stem) }
                && isUnique(JSONPointer(tokens: [name]), elements)
        }
        if let own { return JSONPointer(tokens: [own]) }
        guard elements.count >= 5 else { return nil }
        // A member that several items share refers to another thing. If several members differ in every item, it is
        // open which of them is the id.
        let unique = found.map { JSONPointer(tokens: [$0]) }.filter { isUnique($0, elements) }
        guard unique.count == 1, let only = unique.first, let name = only.tokens.first,
            !Detector.referenceNames.contains(EnvelopeMember.plain(Detector.stem(of: name)))
        else { return nil }
        return only
    }

    /// Whether a name ends in a word for an id: `pageid`, `page_id`, `pageId`, `imdbID`.
    private static func isIDName(_ name: String) -> Bool {
        ["_id", "Id", "ID", "id", "-id"].contains { name.hasSuffix($0) } && name.count > 2
            && !["paid", "valid", "invalid", "void", "bid", "grid", "uuid", "kid", "aid", "avoid", "solid", "hybrid"]
                .contains(name.lowercased())
    }

    private static func stem(of name: String) -> String {
        String(name.dropLast(2)).trimmingCharacters { $0 == "_" || $0 == "-" }
    }

    /// Names of things that an item refers to by their id.
    private static let referenceNames: Set<String> = [
        "user", "author", "owner", "parent", "account", "customer", "creator", "group", "category", "organization",
        "org", "project", "team", "tenant", "company", "country", "region", "client", "session", "request", "trace",
        "type", "status", "root", "store", "channel", "thread", "sender", "assignee", "workspace", "template", "device",
    ]
}

extension String {
    fileprivate func trimmingCharacters(_ isUnwanted: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, isUnwanted(last) { text.removeLast() }
        return String(text)
    }
}
