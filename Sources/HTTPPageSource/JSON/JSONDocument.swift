/// A JSON text (RFC 8259) that is checked once from end to end, and walked without decoding it.
///
/// Values are byte ranges of the text, and items keep the bytes that the origin sent (R7). Strings are unescaped, and
/// numbers converted, only on request for a single value.
///
/// Text that is not UTF-8 to the last byte is refused as a whole (RFC 8259, 8.1). Such text could be stored, but never
/// decoded later. Ids that differ only in broken bytes would look the same (R5). Escaped lone surrogates (`\ud800`) are
/// accepted: the grammar allows them, and their bytes are valid.
struct JSONDocument: Sendable {
    /// The largest number of members that are listed. An object with more members is not the envelope of a list (R43).
    static let mostMembers = 10_000

    let bytes: [UInt8]
    let root: JSONValue
    private let marks: [JSONMark]

    /// Checks `bytes`. A byte order mark at the start is skipped, as RFC 8259, 8.1 allows.
    /// - Parameter depthLimit: the deepest nesting of arrays and objects (R43).
    init(_ bytes: [UInt8], depthLimit: Int) throws(JSONError) {
        self.bytes = bytes
        (root, marks) = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
            let text = JSONBytes(buffer)
            var checker = JSONChecker(text, depthLimit: depthLimit)
            let start = text.skipSpace(buffer.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
            let end = try checker.check(start)
            let rest = text.skipSpace(end)
            guard rest == text.count else { throw .malformed(at: rest) }
            return (JSONValue(start: start, end: end), checker.marks)
        }
    }

    func kind(of value: JSONValue) -> JSONKind {
        switch bytes[value.start] {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    /// The bytes of a value, as the origin sent them.
    func raw(_ value: JSONValue) -> ArraySlice<UInt8> { bytes[value.start..<value.end] }

    /// The elements of an array. Empty for other kinds.
    /// - Parameter limit: the largest number of elements to return. With the shortest elements (`1,`), the result takes
    ///   eight times the memory of the text. Callers with a limit should pass it, or one more to notice a longer array
    ///   (R43).
    func elements(of array: JSONValue, atMost limit: Int = .max) -> [JSONValue] {
        guard kind(of: array) == .array else { return [] }
        return walk(inside: array) { walker in
            let text = walker.text
            var elements: [JSONValue] = []
            var position = text.skipSpace(array.start + 1)
            while text[position] != UInt8(ascii: "]"), elements.count < limit {
                let end = walker.skip(position)
                elements.append(JSONValue(start: position, end: end))
                position = text.skipSpace(end)
                if text[position] == UInt8(ascii: ",") { position = text.skipSpace(position + 1) }
            }
            return elements
        }
    }

    /// The members of an object, in order, at most `mostMembers`. Empty for other kinds.
    func members(of object: JSONValue) -> [(name: String, value: JSONValue)] {
        guard kind(of: object) == .object else { return [] }
        var members: [(name: String, value: JSONValue)] = []
        eachMember(of: object) { name, value in
            members.append((string(name) ?? "", value))
            return members.count < JSONDocument.mostMembers
        }
        return members
    }

    /// The values of an object, in order, at most `limit`. Empty for other kinds.
    func values(of object: JSONValue, atMost limit: Int = .max) -> [JSONValue] {
        guard kind(of: object) == .object else { return [] }
        var values: [JSONValue] = []
        eachMember(of: object) { _, value in
            guard values.count < limit else { return false }
            values.append(value)
            return true
        }
        return values
    }

    /// The member of an object with this name. The first one counts where a name repeats, a case that RFC 8259, 4
    /// leaves open.
    func member(_ name: String, of object: JSONValue) -> JSONValue? {
        guard kind(of: object) == .object else { return nil }
        var name = name
        return name.withUTF8 { wanted in
            var found: JSONValue?
            eachMember(of: object) { key, value in
                guard isNamed(key, wanted) else { return true }
                found = value
                return false
            }
            return found
        }
    }

    /// Whether the name `key` has exactly the code units of `wanted`. Names are rarely escaped, so the raw bytes are
    /// compared first.
    private func isNamed(_ key: JSONValue, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = bytes[key.start + 1..<key.end - 1]
        // An escape is longer than the character that it stands for, and begins with a backslash.
        if raw.count == wanted.count, raw.elementsEqual(wanted) { return !raw.contains(UInt8(ascii: "\\")) }
        guard raw.count > wanted.count, raw.contains(UInt8(ascii: "\\")) else { return false }
        return raw.withUnsafeBytes { JSONText.unescape($0).bytes.elementsEqual(wanted) }
    }

    private func eachMember(of object: JSONValue, _ body: (JSONValue, JSONValue) -> Bool) {
        walk(inside: object) { walker in
            let text = walker.text
            var position = text.skipSpace(object.start + 1)
            while text[position] != UInt8(ascii: "}") {
                let nameEnd = text.skipString(position)
                let valueStart = text.skipSpace(text.skipSpace(nameEnd) + 1)
                let valueEnd = walker.skip(valueStart)
                guard body(JSONValue(start: position, end: nameEnd), JSONValue(start: valueStart, end: valueEnd)) else {
                    return
                }
                position = text.skipSpace(valueEnd)
                if text[position] == UInt8(ascii: ",") { position = text.skipSpace(position + 1) }
            }
        }
    }

    private func walk<Found>(inside container: JSONValue, _ body: (inout JSONWalker) -> Found) -> Found {
        bytes.withUnsafeBufferPointer { bytes in
            marks.withUnsafeBufferPointer { marks in
                var walker = JSONWalker(JSONBytes(bytes), marks, inside: container)
                return body(&walker)
            }
        }
    }
}

/// The byte range of a value in its document.
struct JSONValue: Hashable, Sendable {
    var start: Int
    var end: Int
}

enum JSONKind: Hashable, Sendable {
    case object, array, string, number, boolean, null
}

enum JSONError: Error, Hashable {
    /// The text is not JSON from this byte on.
    case malformed(at: Int)
    /// The text nests deeper than the limit.
    case tooDeep
}
