import PageModel

// The place of the items, and the id of each item.
extension Detector {
    private static let usualNames: Set<String> = [
        "items", "results", "data", "records", "entries", "values", "rows", "objects", "hits", "list", "elements",
        "nodes", "features",
        "docs", "documents", "members", "member", "content", "entry",
    ]

    /// The array of items. Usual names rank before others, arrays of objects before other arrays, and longer arrays
    /// before shorter ones. Among equals, the array nearest to the top and first in the text wins.
    /// - Returns: the array, and a second array that is an equally plausible choice.
    func itemsPointer() -> (pointer: JSONPointer, rival: JSONPointer?)? {
        // A wrong pointer of the caller fails at once. A missing member may be an empty list, which page reading
        // decides.
        if let items = configuration.items { return (items, nil) }
        if document.kind(of: document.root) == .array { return (JSONPointer(tokens: []), nil) }
        var best: (member: EnvelopeMember, rank: Int, count: Int)?
        var rival: JSONPointer?
        for member in members where member.kind == .array {
            let elements = document.elements(of: member.value, atMost: configuration.limits.itemsPerPage + 1)
            let rank = rank(of: elements, named: member.name)
            guard rank > 0 || (rank == 0 && best == nil) else { continue }
            guard let known = best else {
                best = (member, rank, elements.count)
                continue
            }
            // Two arrays of objects with unusual names are equally plausible.
            if rank == 3, known.rank == 3 {
                rival = elements.count > known.count ? known.member.pointer : rival ?? member.pointer
            }
            if (rank, elements.count) > (known.rank, known.count) {
                best = (member, rank, elements.count)
            }
        }
        return best.map { ($0.member.pointer, $0.rank == 3 ? rival : nil) }
    }

    private func rank(of elements: [JSONValue], named name: String) -> Int {
        let isUsual = Detector.usualNames.contains(name.lowercased())
        if elements.isEmpty { return isUsual ? 4 : 1 }
        if elements.allSatisfy({ document.kind(of: $0) == .object }) {
            // An array of links tells how the list continues and holds no items.
            if elements.allSatisfy({ relation(of: $0) != nil }) { return -1 }
            return isUsual ? 5 : 3
        }
        if isUsual { return 4 }
        return elements.allSatisfy { document.scalarText($0) != nil } ? 2 : 0
    }

    /// A member that identifies each item of the page: a scalar, present and different in every item.
    func idPointer(_ elements: [JSONValue]) -> JSONPointer? {
        guard let first = elements.first else { return nil }
        guard document.kind(of: first) == .object else {
            let itself = JSONPointer(tokens: [])
            return isUnique(itself, elements) ? itself : nil
        }
        // Some origins name the key member in the answer.
        var names: [String] = []
        for member in ["primary_keys", "primary_key", "primaryKey", "idField", "id_field"] {
            guard let value = document.member(member, of: document.root) else { continue }
            let keys = document.kind(of: value) == .array ? document.elements(of: value, atMost: 2) : [value]
            // With a key of several members, no single member is the key.
            if keys.count == 1, let key = keys.first.flatMap({ document.string($0) }) { names.append(key) }
        }
        names += [
            "id", "_id", "uuid", "guid", "key", "_key", "rowid", "pk", "uid", "ID", "Id", "objectID", "objectId",
            "slug", "sha", "urn", "uri",
            "url", "href",
        ]
        // In hypermedia, an item may have only its own address as its id.
        let addresses = [["_links", "self", "href"], ["links", "self"]].map { JSONPointer(tokens: $0) }
        return (names.map { JSONPointer(tokens: [$0]) } + addresses).first { isUnique($0, elements) }
    }

    /// The member that the URL sorts by, when its value differs in every item of the page. A keyset can continue behind
    /// it.
    func sortKey(_ elements: [JSONValue]) -> JSONPointer? {
        for name in ["sort", "_sort", "sort_by", "sortBy", "order_by", "orderBy", "ordering", "order"] {
            guard let text = answer.url.value(of: name) else { continue }
            let member = text.drop { $0 == "-" || $0 == "+" || $0 == " " }.prefix {
                $0 != ":" && $0 != "," && $0 != " " && $0 != "."
            }
            let pointer = JSONPointer(tokens: [String(member)])
            if !member.isEmpty, isUnique(pointer, elements) { return pointer }
        }
        return nil
    }

    func isUnique(_ pointer: JSONPointer, _ elements: [JSONValue]) -> Bool {
        var seen: [IDType: Set<String>] = [:]
        for element in elements {
            guard let id = document.value(at: pointer, below: element).flatMap({ document.identifier($0) }),
                seen[id.type, default: []].insert(id.text).inserted
            else { return false }
        }
        return !elements.isEmpty
    }
}
