/// A place in a JSON document (RFC 6901): empty for the whole document, else `/name/0/name`.
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The whole document: the empty pointer.
    public static let whole = JSONPointer(tokens: [])

    /// The reference tokens, unescaped.
    package let tokens: [String]

    init(tokens: [String]) {
        self.tokens = tokens
    }

    /// Returns nil when `text` is not empty and does not start with a slash, or when it has an invalid `~` escape.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        // The comparison is by code units. A slash with a combining accent is one `Character`, and not equal to a
        // slash.
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let token = JSONPointer.unescape(part) else { return nil }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    public var description: String {
        var text: [UInt8] = []
        for token in tokens {
            text.append(UInt8(ascii: "/"))
            for unit in token.utf8 {
                switch unit {
                case UInt8(ascii: "~"): text += [UInt8(ascii: "~"), UInt8(ascii: "0")]
                case UInt8(ascii: "/"): text += [UInt8(ascii: "~"), UInt8(ascii: "1")]
                default: text.append(unit)
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    /// `~0` is a tilde, and `~1` a slash (RFC 6901, 3).
    private static func unescape(_ part: Substring.UTF8View) -> String? {
        var token: [UInt8] = []
        var units = part.makeIterator()
        while let unit = units.next() {
            guard unit == UInt8(ascii: "~") else {
                token.append(unit)
                continue
            }
            switch units.next() {
            case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: token, as: UTF8.self)
    }
}

extension JSONDocument {
    /// The value at `pointer`, below `base`. Returns nil when there is none.
    func value(at pointer: JSONPointer, below base: JSONValue? = nil) -> JSONValue? {
        var value = base ?? root
        for token in pointer.tokens {
            switch kind(of: value) {
            case .object:
                guard let next = member(token, of: value) else { return nil }
                value = next
            case .array:
                guard let next = element(token, of: value) else { return nil }
                value = next
            case .string, .number, .boolean, .null:
                return nil
            }
        }
        return value
    }

    /// Array indexes are digits without a leading zero (RFC 6901, 4).
    private func element(_ token: String, of array: JSONValue) -> JSONValue? {
        guard let index = Int(token), index >= 0, index < bytes.count, String(index) == token else { return nil }
        let elements = elements(of: array, atMost: index + 1)
        return index < elements.count ? elements[index] : nil
    }
}
