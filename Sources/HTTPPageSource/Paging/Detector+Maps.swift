import PageModel

// Objects whose members may each hold a list: `"items":{"zones/a":{"instances":[…]},"zones/b":{"warning":"…"}}`.
extension Detector {
    /// The object in which one member holds `list`, and other members may hold further lists. Returns nil without one.
    /// At least two members of the object are objects, and none of these describes the list. Either all members are
    /// objects, and the object has a usual name of items. Or the names of at least two members look like keys, and the
    /// member that holds `list` is one of these.
    func mapOfLists(around list: JSONPointer) -> JSONPointer? {
        for depth in 0..<max(list.tokens.count - 1, 0) {
            let holder = JSONPointer(tokens: Array(list.tokens.prefix(depth)))
            guard let value = document.value(at: holder), document.kind(of: value) == .object else { continue }
            let members = document.members(of: value)
            let objects = members.filter { document.kind(of: $0.value) == .object }
            guard objects.count >= 2, !objects.contains(where: { isBeside($0.name) }) else { continue }
            let isList = objects.count == members.count && isListName(holder.tokens.last ?? "")
            let keys = objects.filter { Detector.isKey($0.name) }
            if isList || keys.count >= 2 && Detector.isKey(list.tokens[depth]) { return holder }
        }
        return nil
    }

    /// Whether a member of this name usually holds only the items. `data` and `content` may hold other members, too.
    private func isListName(_ name: String) -> Bool {
        isUsual(name) && !["data", "content"].contains(name.lowercased())
    }

    /// Whether a name looks like a key of a map, such as a date: it has a digit, a slash or a space.
    static func isKey(_ name: String) -> Bool { name.contains { $0.isNumber || $0 == "/" || $0 == " " } }

    /// Whether an object of this name describes the list, and holds no items of it.
    private func isBeside(_ name: String) -> Bool {
        let plain = EnvelopeMember.plain(name)
        return Detector.envelopeNames.contains(plain) || ["links", "stats", "status", "header"].contains(plain)
    }
}

extension PageReader {
    /// The place of objects that may be items, other than the place of the items. Returns nil when there is none, and
    /// when the caller named the place of the items. Such an answer has another shape than page one, and is neither an
    /// empty page nor the end of the list.
    /// - Parameters:
    ///   - list: the value at the place of the items. `nil` means that the answer has no such place.
    ///   - isEmpty: whether the answer has no items at the place of the items.
    func movedItems(list: JSONValue?, isEmpty: Bool) -> JSONPointer? {
        guard description.said?.contains("items=") != true, let name = description.items.tokens.last,
            isEmpty || Detector.isKey(name)
        else { return nil }
        if isEmpty, let place = movedObjects { return place }
        // An answer that counts 0 items is empty, whatever it has elsewhere.
        guard !isEmpty || PageReader.total(of: answer, description).total != .exact(0) else { return nil }
        if let place = listUnderOtherKey { return place }
        return list == nil ? listElsewhere : nil
    }

    /// The place of objects in another member than that of the items, at the same depth and under the same last name.
    private var movedObjects: JSONPointer? {
        let tokens = description.items.tokens, document = answer.document
        for depth in 0..<max(tokens.count - 1, 0) {
            let holder = JSONPointer(tokens: Array(tokens.prefix(depth)))
            let below = JSONPointer(tokens: Array(tokens.dropFirst(depth + 1)))
            guard let value = document.value(at: holder), document.kind(of: value) == .object else { continue }
            for (name, member) in document.members(of: value) where name != tokens[depth] {
                guard document.kind(of: member) == .object, let list = document.value(at: below, below: member),
                    document.kind(of: list) == .array,
                    let first = document.elements(of: list, atMost: 1).first, document.kind(of: first) == .object
                else { continue }
                return JSONPointer(tokens: holder.tokens + [name] + below.tokens)
            }
        }
        return nil
    }

    /// The place of objects with the ids of the items in the object around the items, where both names look like keys:
    /// `{"2026-11-01":[…],"2026-11-02":[…]}`. Returns nil for a page one with items at their place.
    private var listUnderOtherKey: JSONPointer? {
        let tokens = description.items.tokens, document = answer.document
        let holder = JSONPointer(tokens: Array(tokens.dropLast()))
        guard let own = tokens.last, Detector.isKey(own), !(isFirst && hasItems), let value = document.value(at: holder)
        else { return nil }
        let other = document.members(of: value).first { name, list in
            name != own && Detector.isKey(name) && holdsItems(list)
        }
        return other.map { holder.appending($0.name) }
    }

    /// The place of objects with the ids of the items anywhere in the answer, except in lists that usually stand beside
    /// the items. Items without ids count only in the object around the items.
    private var listElsewhere: JSONPointer? {
        let holder = description.items.tokens.dropLast()
        return answer.document.envelope().first { member in
            member.kind == .array && holdsItems(member.value) && !Detector.isAccessory(member)
                && (description.id != nil || member.pointer.tokens.dropLast() == holder)
                && !member.pointer.tokens.map(EnvelopeMember.plain).contains {
                    Detector.sideNames.contains($0) || $0.hasSuffix("links")
                }
        }?.pointer
    }

    private var hasItems: Bool {
        answer.document.value(at: description.items).map {
            !answer.document.entries(of: $0, atMost: 1).isEmpty
        } ?? false
    }

    /// Whether a value is an array of objects. Each must have an id at the place of the ids, if the list has ids.
    private func holdsItems(_ value: JSONValue) -> Bool {
        let document = answer.document
        let elements = document.elements(of: value, atMost: PageReader.mostCompared)
        return !elements.isEmpty
            && elements.allSatisfy { element in
                guard document.kind(of: element) == .object else { return false }
                guard let id = description.id else { return true }
                return document.value(at: id, below: element).flatMap { document.identifier($0) } != nil
            }
    }

    /// The largest number of elements that are examined.
    private static let mostCompared = 16
}
