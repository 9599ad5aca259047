import PageModel

// The place of the items, and the id of each item.
extension Detector {
    private static let usualNames: Set<String> = [
        "items", "results", "data", "records", "entries", "values", "rows", "objects", "hits", "list", "elements",
        "nodes", "features",
        "docs", "documents", "members", "member", "content", "entry",
    ]

    /// The place of the items, another plausible place, and the place of the id if the members of an object are the
    /// items.
    struct ItemsPlace {
        var pointer: JSONPointer
        var rival: JSONPointer?
        /// Whether `rival` is as plausible as `pointer`. Detection then refuses the answer, unless a total equals the
        /// length of the list at `pointer`.
        var isTied = false
        /// Whether `rival` has no elements, and is tied for that reason alone. A later page of `pointer` decides then.
        var isRivalEmpty = false
        var key: JSONPointer?
    }

    /// The names of lists that usually stand beside the items.
    static let sideNames: Set<String> = [
        "facets", "facet", "aggregations", "aggs", "buckets", "filters", "availablefilters", "included", "includes",
        "suggestions", "breadcrumbs", "sorts", "availablesorts", "notices",
    ]

    /// The array of items. Usual names rank before others, and arrays of objects before other arrays. Then arrays that
    /// the path of the URL names rank first, then arrays with paging next to them, then longer arrays. Among equals,
    /// the array nearest to the top and first in the text wins. Without an array, an object counts whose values each
    /// contain their own name.
    func itemsPointer() -> ItemsPlace? {
        // A wrong pointer of the caller fails at once. A missing member may be an empty list, which page reading
        // decides.
        if let items = configuration.items { return ItemsPlace(pointer: items) }
        if let index = document.pairedItems { return ItemsPlace(pointer: JSONPointer(tokens: ["\(index)"])) }
        if document.kind(of: document.root) == .array { return ItemsPlace(pointer: JSONPointer(tokens: [])) }
        var best: (member: EnvelopeMember, rank: Int, count: Int)?
        var rival: (pointer: JSONPointer, rank: Int)?
        var sideList: JSONPointer?, emptyList: JSONPointer?, empties: [JSONPointer] = []
        let keyed = keyedObjects
        for member in members where member.kind == .array && !isPart(member, ofItemIn: keyed) {
            let elements = document.elements(of: member.value, atMost: configuration.limits.itemsPerPage + 1)
            // Four times the rank leaves room for the paging next to an array, which decides among arrays of one rank.
            let plain = rank(of: elements, at: member.pointer, named: member.name)
            // The name of the list in the path of the URL decides before the paging.
            let isNamed = plain == 3 && (isNamedByPath(member.name) || haveIDNamedByPath(elements))
            let rank = plain > 0 ? 4 * plain + (isNamed ? 2 : 0) + (isBesidePaging(member) ? 1 : 0) : plain
            if plain == 1, !elements.isEmpty, elements.allSatisfy({ document.kind(of: $0) == .object }) {
                sideList = sideList ?? member.pointer
            }
            if plain == 1, elements.isEmpty, isUsual(member.name) || member.parent.map({ isUsual($0) }) ?? false {
                emptyList = emptyList ?? member.pointer
            }
            if plain == 1, elements.isEmpty, !Detector.isAccessory(member) { empties.append(member.pointer) }
            guard rank > 0 || (rank == 0 && best == nil) else { continue }
            guard let known = best else {
                best = (member, rank, elements.count)
                continue
            }
            // Two arrays of objects with unusual names are equally plausible.
            if rank / 4 == 3, known.rank / 4 == 3 {
                let isBetter = (rank, elements.count) > (known.rank, known.count)
                let other = isBetter ? (known.member.pointer, known.rank) : (member.pointer, rank)
                if isBetter || rival == nil || other.1 > rival?.rank ?? 0 { rival = other }
            }
            if (rank, elements.count) > (known.rank, known.count) {
                best = (member, rank, elements.count)
            }
        }
        if let best, best.rank > 0 {
            let other = best.rank / 4 == 3 ? rival : nil
            // Plain values that the URL does not name may not be the list. Objects under the name of a side list are as
            // plausible. So is a list without elements, if it or its parent has a usual name.
            let side = best.rank / 4 == 2 && !isNamedByPath(best.member.name) ? sideList ?? emptyList : nil
            let place = best.member.pointer
            // An empty list is as plausible as objects with an unusual name beside it, until a page follows these
            // objects. Beside a full page of objects it is not: the probes show whether more objects follow.
            let isOpen =
                best.rank / 4 == 3 && best.rank % 4 < 2 && !OpenEnd.usualSizes.contains(best.count)
                && !showsItems(best.count)
            let empty = isOpen ? empties.first { $0.tokens.dropLast() == place.tokens.dropLast() } : nil
            let equal = other?.rank == best.rank ? other?.pointer : side ?? empty
            return ItemsPlace(
                pointer: place, rival: equal ?? other?.pointer, isTied: equal != nil,
                isRivalEmpty: equal != nil && equal == empty)
        }
        // Objects beside `data: null` are not the list.
        let isNull = members.contains { $0.kind == .null && $0.parent == nil && isUsual($0.name) }
        for pointer in keyed where !isNull {
            if let key = ownKey(of: pointer) { return ItemsPlace(pointer: pointer, key: key) }
        }
        return best.map { ItemsPlace(pointer: $0.member.pointer) }
    }

    /// Whether the path of the URL has the name of a list: `/v1/filters`.
    func isNamedByPath(_ name: String) -> Bool {
        let plain = EnvelopeMember.plain(name)
        return answer.url.path.split(separator: "/").contains { EnvelopeMember.plain(String($0)) == plain }
    }

    /// Whether an id of the items is named after a part of the URL's path: `transaction_id` below `/transactions/sync`.
    private func haveIDNamedByPath(_ elements: [JSONValue]) -> Bool {
        guard let first = elements.first else { return false }
        let parts = answer.url.path.split(separator: "/").map { EnvelopeMember.plain(String($0)) }
        return document.members(of: first).contains { name, _ in
            let plain = EnvelopeMember.plain(name), stem = plain.dropLast(2)
            return plain.hasSuffix("id") && stem.count >= 3
                && parts.contains { $0 == stem || $0 == "\(stem)s" }
                && isUnique(JSONPointer(tokens: [name]), elements)
        }
    }

    /// Whether a total equals the length of this list, and not that of the other one.
    func isCounted(_ list: ItemsPlace) -> Bool {
        func length(_ pointer: JSONPointer?) -> Int? {
            pointer.flatMap { document.value(at: $0) }.map {
                document.elements(of: $0, atMost: configuration.limits.itemsPerPage).count
            }
        }
        let count = length(list.pointer)
        return count != length(list.rival)
            && members.contains { Detector.rank($0.name) ?? 0 >= 3 && document.integer($0.value) == count }
    }

    /// The list inside the first item, if the items may be groups of the real items (`[{"stream":{…},"values":[…]}]`).
    /// Such items have no ids, and each has one array, under a usual name for items. Either there is only one group, or
    /// the groups together have as many elements as the URL requests. If the URL requests no size, the groups must have
    /// different lengths and together a usual page size: series of points have equal lengths.
    func innerList(of elements: [JSONValue], at items: JSONPointer, hasIDs: Bool) -> JSONPointer? {
        guard !hasIDs, configuration.items == nil, (1...100).contains(elements.count) else { return nil }
        var name: String?
        var lengths: [Int] = []
        for element in elements {
            let members = document.members(of: element)
            let arrays = members.filter { document.kind(of: $0.value) == .array }
            guard members.count <= 4, arrays.count == 1, Detector.usualNames.contains(arrays[0].name.lowercased()),
                name ?? arrays[0].name == arrays[0].name
            else { return nil }
            name = arrays[0].name
            lengths.append(document.elements(of: arrays[0].value, atMost: configuration.limits.itemsPerPage).count)
        }
        let sum = lengths.reduce(0, +)
        let asked = ParameterNames.size(in: answer.url).flatMap { answer.url.value(of: $0) }
        let isFull =
            asked.map { $0 == "\(sum)" } ?? (Set(lengths).count > 1 && OpenEnd.usualSizes.contains(sum))
        guard let name, elements.count == 1 || isFull else { return nil }
        return items.appending("0").appending(name)
    }

    /// Whether a member has paging next to it: a total, a next page, a size, or an object of these.
    private func isBesidePaging(_ member: EnvelopeMember) -> Bool {
        let holder = member.pointer.tokens.dropLast()
        return members.contains { other in
            other.kind != .array && other.pointer.tokens.dropLast() == holder
                && (Detector.pagingNames.contains(other.plainName) || Detector.rank(other.name) ?? 0 >= 3)
        }
    }

    private static let pagingNames: Set<String> = [
        "next", "nextpage", "nexturl", "nextlink", "nextcursor", "nexttoken", "nextpagetoken", "cursor", "hasmore",
        "hasnext", "hasnextpage", "limit", "offset", "page", "perpage", "pagesize", "paging", "pagination", "pageinfo",
        "links", "isfinal", "islast", "totalpages", "pages", "skip", "start",
    ]

    // MARK: Objects that hold the items by their keys

    /// The objects whose members are at least two objects of one kind: they share two names, or an id.
    var keyedObjects: [JSONPointer] {
        let all = [JSONPointer(tokens: [])] + members.filter { $0.kind == .object }.map(\.pointer)
        return all.filter { pointer in
            guard let value = document.value(at: pointer) else { return false }
            let values = document.values(of: value, atMost: configuration.limits.itemsPerPage + 1)
            guard values.count >= 2, values.allSatisfy({ document.kind(of: $0) == .object }) else { return false }
            var shared = Set(document.members(of: values[0]).map(\.name))
            for value in values.dropFirst() { shared.formIntersection(document.members(of: value).map(\.name)) }
            return shared.count >= 2 || shared.contains("id")
        }
    }

    /// Whether an array is a member of an item: it is in one of the objects below a pointer in `keyed`, and another of
    /// these objects has an array at the same place.
    private func isPart(_ member: EnvelopeMember, ofItemIn keyed: [JSONPointer]) -> Bool {
        let tokens = member.pointer.tokens
        return keyed.contains { pointer in
            guard tokens.count > pointer.tokens.count + 1, tokens.starts(with: pointer.tokens),
                let value = document.value(at: pointer)
            else { return false }
            let below = JSONPointer(tokens: Array(tokens.dropFirst(pointer.tokens.count + 1)))
            let arrays = document.values(of: value, atMost: 16).filter {
                document.value(at: below, below: $0).map { document.kind(of: $0) == .array } ?? false
            }
            return arrays.count > 1
        }
    }

    /// The member that repeats the name of its object, in every object below `pointer`.
    private func ownKey(of pointer: JSONPointer) -> JSONPointer? {
        guard let value = document.value(at: pointer) else { return nil }
        let entries = document.members(of: value)
        guard let first = entries.first, entries.count < JSONDocument.mostMembers else { return nil }
        let names = document.members(of: first.value).map(\.name)
        return names.first { name in
            entries.allSatisfy { entry in
                document.member(name, of: entry.value).flatMap { document.scalarText($0) } == entry.name
            }
        }.map { JSONPointer(tokens: [$0]) }
    }

    func isUsual(_ name: String) -> Bool { Detector.usualNames.contains(name.lowercased()) }

    /// The rank of an array as the list of items, best 5. An array of rank 0 is used only without a better one: a side
    /// list without elements, or elements of mixed kinds. Links, and errors that the URL does not request, have rank
    /// -1. They are never the items.
    func rank(of elements: [JSONValue], at pointer: JSONPointer, named name: String) -> Int {
        // HAL keeps links and their short names there, and no items.
        if pointer.tokens.contains("_links") { return -1 }
        // Errors next to an empty answer are not items, unless the URL requests them.
        if ["errors", "error", "warnings"].contains(name.lowercased()),
            !answer.url.path.lowercased().contains(name.lowercased())
        {
            return -1
        }
        let isUsual = isUsual(name)
        let isNamed = isNamedByPath(name)
        // Lists that usually stand beside the items, unless the URL requests them.
        let isSide = pointer.tokens.contains {
            Detector.sideNames.contains(EnvelopeMember.plain($0)) && !isNamedByPath($0)
        }
        if isSide { return elements.isEmpty ? 0 : 1 }
        if elements.isEmpty {
            // If the path of the URL ends with the name, the requested list is empty, whatever stands beside it.
            let isRequested = isNamed && answer.url.path.lowercased().hasSuffix("/" + name.lowercased())
            return isUsual ? 4 : isRequested ? 3 : 1
        }
        if elements.allSatisfy({ document.kind(of: $0) == .object }) {
            // An array of links is not a list of items.
            if elements.allSatisfy({ relation(of: $0) != nil }) { return -1 }
            return isUsual ? 5 : 3
        }
        if isUsual { return 4 }
        return elements.allSatisfy { document.scalarText($0) != nil } ? 2 : 0
    }

    /// The member that the URL sorts by, when its value differs in every item of the page. A keyset can continue after
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
