/// Names a place in a JSON document (RFC 6901): empty for the whole, else `/name/0/name`.
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The reference tokens, unescaped.
    let tokens: [String]

    init(tokens: [String]) {
        self.tokens = tokens
    }

    /// Nil when `text` is neither empty nor starts with a slash, or has a `~` that escapes nothing.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        var tokens: [String] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            var token = ""
            var characters = part.makeIterator()
            while let character = characters.next() {
                guard character == "~" else {
                    token.append(character)
                    continue
                }
                switch characters.next() {
                case "0": token.append("~")
                case "1": token.append("/")
                default: return nil
                }
            }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    public var description: String {
        tokens.map { token in
            "/" + token.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
        }.joined()
    }

    func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }
}

extension JSONDocument {
    /// The value that `pointer` names, below `base`; nil when there is none.
    func value(at pointer: JSONPointer, below base: JSONValue? = nil) -> JSONValue? {
        var value = base ?? root
        for token in pointer.tokens {
            switch kind(of: value) {
            case .object:
                guard let next = member(token, of: value) else { return nil }
                value = next
            case .array:
                // RFC 6901, 4: digits without a leading zero.
                guard let index = Int(token), index >= 0, String(index) == token else { return nil }
                let elements = elements(of: value)
                guard index < elements.count else { return nil }
                value = elements[index]
            case .string, .number, .boolean, .null:
                return nil
            }
        }
        return value
    }
}
