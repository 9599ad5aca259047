/// A JSON text (RFC 8259) that has been checked once from end to end, and can then be walked without decoding it.
///
/// Values are byte ranges of the text: items are cut out exactly as they were sent (R7). Nothing is unescaped, and no
/// number is converted, unless somebody asks for that very value.
///
/// The text is UTF-8 to the last byte (RFC 8259, 8.1), or it is refused as a whole. What is not text to begin with
/// could be stored, but nobody could decode it later; and ids that differ in broken bytes alone would look the same
/// (R5). Escaped lone surrogates (`\ud800`) are taken: the grammar allows them, and their bytes are sound.
struct JSONDocument: Sendable {
    /// An object with more members than that is no envelope around a list; what comes behind them is not listed (R43).
    static let mostMembers = 10_000

    let bytes: [UInt8]
    let root: JSONValue
    private let marks: [JSONMark]

    /// Checks `bytes`. A byte order mark in front is passed over (RFC 8259, 8.1, allows that).
    /// - Parameter depthLimit: how deep arrays and objects may nest (R43).
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

    /// The bytes of a value, as sent.
    func raw(_ value: JSONValue) -> ArraySlice<UInt8> { bytes[value.start..<value.end] }

    /// The elements of an array; empty for anything else.
    /// - Parameter limit: no more than so many, from the first one on. A list takes eight times the memory of the
    ///   shortest elements (`1,`); whoever knows a limit should say it, or one more to see that it is passed (R43).
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

    /// The members of an object, in order; empty for anything else. No more than `mostMembers`.
    func members(of object: JSONValue) -> [(name: String, value: JSONValue)] {
        guard kind(of: object) == .object else { return [] }
        var members: [(name: String, value: JSONValue)] = []
        eachMember(of: object) { name, value in
            members.append((string(name) ?? "", value))
            return members.count < JSONDocument.mostMembers
        }
        return members
    }

    /// The member of an object with this name; the first where a name repeats (RFC 8259, 4, leaves open which counts).
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

    /// Whether `key` says `wanted`: the same code units, not what looks the same. Names are rarely escaped: bytes are
    /// compared first.
    private func isNamed(_ key: JSONValue, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = bytes[key.start + 1..<key.end - 1]
        if raw.count == wanted.count, raw.elementsEqual(wanted) { return true }
        // An escape is longer than what it stands for.
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

/// Where a value stands in its document.
struct JSONValue: Hashable, Sendable {
    var start: Int
    var end: Int
}

enum JSONKind: Hashable, Sendable {
    case object, array, string, number, boolean, null
}

enum JSONError: Error, Hashable {
    /// Not JSON, from this byte on.
    case malformed(at: Int)
    /// Nested deeper than the limit.
    case tooDeep
}
