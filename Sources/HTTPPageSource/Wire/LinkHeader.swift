/// The `Link` header field (RFC 8288).
enum LinkHeader {
    /// The target of the first link with this relation, as it is written. The target may be a relative reference. A
    /// link with the parameter `results="false"` does not count: the page at its target has no items.
    static func target(rel wanted: String, in field: String) -> String? {
        links(rel: wanted, in: field).first { !$0.isEmpty }?.target
    }

    /// Whether the field has a link to the next page, and each such link states that the next page has no results:
    /// `rel="next"; results="false"`.
    static func hasEmptyNext(in field: String) -> Bool {
        let found = links(rel: "next", in: field)
        return !found.isEmpty && found.allSatisfy(\.isEmpty)
    }

    private static func links(rel wanted: String, in field: String) -> [(target: String, isEmpty: Bool)] {
        var found: [(target: String, isEmpty: Bool)] = []
        var rest = Substring(field)
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            let target = rest[rest.index(after: open)..<close]
            rest = rest[rest.index(after: close)...]
            var relations: [Substring] = []
            var isEmpty = false
            while let parameter = nextParameter(&rest) {
                // Only the first `rel` counts, and it may hold several relations (RFC 8288, 3.3).
                if parameter.name == "rel", relations.isEmpty {
                    relations = parameter.value.split(separator: " ")
                }
                if parameter.name == "results" { isEmpty = parameter.value.lowercased() == "false" }
            }
            if relations.contains(where: { $0.lowercased() == wanted }) {
                found.append((target.trimmingSpaces(), isEmpty))
            }
        }
        return found
    }

    /// Removes `; name=value` or `; name="value"` from the front. Returns nil at the comma before the next link, or at
    /// the end.
    private static func nextParameter(_ rest: inout Substring) -> (name: String, value: String)? {
        rest = rest.drop(while: { $0 == " " || $0 == "\t" })
        guard rest.first == ";" else { return nil }
        rest = rest.dropFirst().drop(while: { $0 == " " || $0 == "\t" })
        let name = rest.prefix(while: { !"=;, \t".contains($0) })
        rest = rest[name.endIndex...].drop(while: { $0 == " " || $0 == "\t" })
        guard rest.first == "=" else { return (name.lowercased(), "") }
        rest = rest.dropFirst().drop(while: { $0 == " " || $0 == "\t" })
        guard rest.first == "\"" else {
            let value = rest.prefix(while: { $0 != ";" && $0 != "," })
            rest = rest[value.endIndex...]
            return (name.lowercased(), value.trimmingSpaces())
        }
        rest = rest.dropFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            // A backslash makes the next character plain (RFC 9110, 5.6.4).
            if character == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(character)
            }
        }
        return (name.lowercased(), value)
    }
}

extension StringProtocol {
    func trimmingSpaces() -> String {
        let front = drop(while: { $0 == " " || $0 == "\t" })
        return String(front.reversed().drop(while: { $0 == " " || $0 == "\t" }).reversed())
    }
}
