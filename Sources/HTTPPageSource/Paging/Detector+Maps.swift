import PageModel

// Objects whose members may each hold a list: `"items":{"zones/a":{"instances":[…]},"zones/b":{"warning":"…"}}`.
extension Detector {
    /// The object of which one member holds `list`, and other members may hold further lists. Its members are objects.
    /// They are below a usual name of items, or their names look like keys. Returns nil when there is no such object.
    func mapOfLists(around list: JSONPointer) -> JSONPointer? {
        for depth in 0..<max(list.tokens.count - 1, 0) {
            let holder = JSONPointer(tokens: Array(list.tokens.prefix(depth)))
            guard let value = document.value(at: holder), document.kind(of: value) == .object else { continue }
            let members = document.members(of: value)
            let objects = members.filter { document.kind(of: $0.value) == .object }
            guard objects.count >= 2, !objects.contains(where: { isBeside($0.name) }) else { continue }
            let isList = objects.count == members.count && isListName(holder.tokens.last ?? "")
            let keys = objects.filter { isKey($0.name) }
            if isList || keys.count >= 2 && isKey(list.tokens[depth]) { return holder }
        }
        return nil
    }

    /// Whether a name is one of items, and not one of an object around all sorts of members.
    private func isListName(_ name: String) -> Bool {
        isUsual(name) && !["data", "content"].contains(name.lowercased())
    }

    private func isKey(_ name: String) -> Bool { name.contains { $0.isNumber || $0 == "/" || $0 == " " } }

    /// Whether an object of this name speaks of the list, and is no part of it.
    private func isBeside(_ name: String) -> Bool {
        let plain = EnvelopeMember.plain(name)
        return Detector.envelopeNames.contains(plain) || ["links", "stats", "status", "header"].contains(plain)
    }
}

extension PageReader {
    /// The place of objects in another member than that of the items, at the same depth and under the same last name.
    /// Returns nil when there is none, and when the caller named the place of the items.
    var movedItems: JSONPointer? {
        let tokens = description.items.tokens, document = answer.document
        guard description.said?.contains("items=") != true else { return nil }
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
}
