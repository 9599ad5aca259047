#if Tool
import ArgumentParser
import HTTPPageSource

/// A place in an item (RFC 6901), looked up in its bytes.
struct FieldPointer: Hashable {
    /// As it was written.
    let text: String
    private let tokens: [[UInt8]]

    /// Nil when `text` is neither empty nor starts with a slash, or has a `~` that escapes nothing.
    init?(_ text: String) {
        self.text = text
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        var tokens: [[UInt8]] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            // "~1" first would make "~01" a slash (RFC 6901, 4).
            let pieces = part.split(separator: "~", omittingEmptySubsequences: false)
            guard pieces.dropFirst().allSatisfy({ $0.hasPrefix("0") || $0.hasPrefix("1") }) else { return nil }
            let rest = pieces.dropFirst().map { ($0.hasPrefix("0") ? "~" : "/") + $0.dropFirst() }
            tokens.append(Array((pieces[0] + rest.joined()).utf8))
        }
        self.tokens = tokens
    }

    /// Several, separated by commas: `/id,/owner/name`.
    static func list(_ text: String) -> [FieldPointer]? {
        let pointers = text.split(separator: ",", omittingEmptySubsequences: false).map { FieldPointer(String($0)) }
        return pointers.contains(nil) ? nil : pointers.compactMap { $0 }
    }

    /// What `--fields` says is what it can mean.
    static func validate(_ text: String?) throws {
        guard let text, list(text) == nil else { return }
        throw ValidationError("--fields takes JSON Pointers as in /id,/owner/name, not '\(text)'")
    }

    /// The value in `payload`; nil when there is none.
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
            // Names are rarely escaped: bytes are compared first.
            let isIt =
                key.elementsEqual(name) || (key.contains(UInt8(ascii: "\\")) && JSONText.unescape(key).bytes == name)
            if isIt { found = value }
            return !isIt
        }
        return found
    }

    private static func element(_ token: [UInt8], of value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        // RFC 6901, 4: digits without a leading zero.
        guard let index = Int(String(decoding: token, as: UTF8.self)), index >= 0, Array(String(index).utf8) == token
        else { return nil }
        return JSONBytes.element(index, of: value)
    }
}
#endif
