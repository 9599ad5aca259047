#if Tool
import ArgumentParser
import HTTPPageSource

/// A place in an item (RFC 6901), which is looked up in the item's bytes.
struct FieldPointer: Hashable {
    /// The name of the field: the pointer as it was written, or the name before it.
    let text: String
    private let tokens: [[UInt8]]

    /// A field from a JSON Pointer, or from `name=/pointer`. Returns nil for other texts: see `JSONPointer`.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        // A pointer starts with a slash and may contain an equals sign. A name does not start with a slash.
        let isNamed = parts.count == 2 && !text.hasPrefix("/") && !parts[0].isEmpty
        guard let pointer = JSONPointer(isNamed ? String(parts[1]) : text) else { return nil }
        self.text = isNamed ? String(parts[0]) : text
        tokens = pointer.tokens.map { Array($0.utf8) }
    }

    /// Parses several pointers separated by commas: `/id,/owner/name`. Returns nil when one is invalid.
    static func list(_ text: String) -> [FieldPointer]? {
        let pointers = elements(text).map { FieldPointer($0) }
        return pointers.contains(nil) ? nil : pointers.compactMap { $0 }
    }

    private static func elements(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    }

    /// Returns a hint for an invalid element. Most invalid elements lack the slash.
    private static func correction(of element: String) -> String {
        let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if element.contains("=/"), parts.count == 2, !parts[1].hasPrefix("/") {
            return "a name has no '=', as in owner=/owner/name"
        }
        let guess = parts.count == 2 ? "\(parts[0])=/\(parts[1])" : "/\(element)"
        if FieldPointer(guess) != nil { return "did you mean '\(guess)'?" }
        return element.contains("~")
            ? "a '~' in a name is written ~0, and a '/' is written ~1" : "as in /id or owner=/owner/name"
    }

    /// Checks the argument of `--fields`.
    static func validate(_ text: String?) throws {
        guard let text else { return }
        // An empty pointer is the whole item (RFC 6901, 5). Without a name it is more likely an empty variable of a
        // script.
        guard !elements(text).contains("") else {
            throw ValidationError(
                "--fields is '\(text)', with an empty pointer; write /pointer, name=/pointer, or name= for the whole item"
            )
        }
        if let wrong = elements(text).first(where: { FieldPointer($0) == nil }) {
            throw ValidationError(
                "'\(wrong)' in --fields is neither /pointer nor name=/pointer; \(correction(of: wrong))")
        }
        let fields = list(text) ?? []
        // Readers of objects and of CSV find a field by its name.
        let names = fields.map(\.text)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw ValidationError("--fields has the name '\(twice)' twice; write NAME=POINTER with another name")
        }
    }

    /// The value in `payload`. Returns nil when there is none.
    func value(in payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var value = payload
        for token in tokens {
            guard let next = FieldPointer.member(token, of: value) ?? FieldPointer.element(token, of: value) else {
                return nil
            }
            value = next
        }
        return value
    }

    private static func member(_ name: [UInt8], of value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var found: UnsafeRawBufferPointer?
        JSONBytes.eachMember(of: value) { key, value in
            // Names are rarely escaped, so the raw bytes are compared first.
            let isIt =
                key.elementsEqual(name) || (key.contains(UInt8(ascii: "\\")) && JSONText.unescape(key).bytes == name)
            if isIt { found = value }
            return !isIt
        }
        return found
    }

    private static func element(_ token: [UInt8], of value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        // Array indexes are digits without a leading zero (RFC 6901, 4).
        guard let index = Int(String(decoding: token, as: UTF8.self)), index >= 0, Array(String(index).utf8) == token
        else { return nil }
        return JSONBytes.element(index, of: value)
    }
}
#endif
