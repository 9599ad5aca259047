import PageModel

// Swift values of single JSON values.
extension JSONDocument {
    /// The text of a string. `nil` for other kinds. Lone surrogates become U+FFFD.
    func string(_ value: JSONValue) -> String? { unescaped(value)?.text }

    /// A whole number, written as a number or as a string of digits (R44). `nil` for other values.
    func integer(_ value: JSONValue) -> Int? {
        switch kind(of: value) {
        case .number: JSONText.wholeNumber(String(decoding: raw(value), as: UTF8.self))
        case .string: string(value).flatMap { JSONText.wholeNumber($0) }
        case .object, .array, .boolean, .null: nil
        }
    }

    func boolean(_ value: JSONValue) -> Bool? {
        guard kind(of: value) == .boolean else { return nil }
        return bytes[value.start] == UInt8(ascii: "t")
    }

    /// The text of a string, or a number as it is written. `nil` for other kinds.
    func scalarText(_ value: JSONValue) -> String? {
        switch kind(of: value) {
        case .string: string(value)
        case .number: String(decoding: raw(value), as: UTF8.self)
        case .object, .array, .boolean, .null: nil
        }
    }

    /// An object as it is written. `nil` for other kinds, and for an object without members.
    func objectText(_ value: JSONValue) -> String? {
        guard kind(of: value) == .object, !members(of: value).isEmpty else { return nil }
        return String(decoding: raw(value), as: UTF8.self)
    }

    /// An array as it is written. `nil` for other kinds, and for an array without elements.
    func arrayText(_ value: JSONValue) -> String? {
        guard kind(of: value) == .array, !elements(of: value, atMost: 1).isEmpty else { return nil }
        return String(decoding: raw(value), as: UTF8.self)
    }

    /// The id of an item: `scalarText`, but nil for a string with an escaped lone surrogate. Two such strings can have
    /// the same text, and one item would replace the other (R5).
    func identifier(_ value: JSONValue) -> (text: String, type: IDType)? {
        switch kind(of: value) {
        case .string: unescaped(value).flatMap { $0.hasLoneSurrogate ? nil : ($0.text, .string) }
        case .number: (String(decoding: raw(value), as: UTF8.self), .number)
        case .object, .array, .boolean, .null: nil
        }
    }

    private func unescaped(_ value: JSONValue) -> (text: String, hasLoneSurrogate: Bool)? {
        guard kind(of: value) == .string else { return nil }
        let raw = bytes[value.start + 1..<value.end - 1]
        guard raw.contains(UInt8(ascii: "\\")) else { return (String(decoding: raw, as: UTF8.self), false) }
        let unescaped = raw.withUnsafeBytes { JSONText.unescape($0) }
        return (String(decoding: unescaped.bytes, as: UTF8.self), unescaped.hasLoneSurrogate)
    }
}
