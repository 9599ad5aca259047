/// A JSON text (RFC 8259) that has been checked once from end to end, and can then be walked without decoding it.
///
/// Values are byte ranges of the text: items are cut out exactly as they were sent (R7). Nothing is unescaped, and no
/// number is converted, unless somebody asks for that very value.
struct JSONDocument: Sendable {
    let bytes: [UInt8]
    let root: JSONValue

    /// Checks `bytes`. A byte order mark in front is passed over (RFC 8259, 8.1, allows that).
    /// - Parameter depthLimit: how deep arrays and objects may nest (R43).
    init(_ bytes: [UInt8], depthLimit: Int) throws(JSONError) {
        self.bytes = bytes
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let found: Result<JSONValue, JSONError> = bytes.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            do throws(JSONError) {
                start = scanner.skipSpace(start)
                let end = try scanner.checkValue(start, depthLimit: depthLimit)
                guard scanner.skipSpace(end) == buffer.count else { throw .malformed(at: end) }
                return .success(JSONValue(start: start, end: end))
            } catch {
                return .failure(error)
            }
        }
        root = try found.get()
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
    func elements(of array: JSONValue) -> [JSONValue] {
        guard kind(of: array) == .array else { return [] }
        return bytes.withUnsafeBufferPointer { buffer in
            let scanner = JSONScanner(buffer)
            var elements: [JSONValue] = []
            var position = scanner.skipSpace(array.start + 1)
            while buffer[position] != UInt8(ascii: "]") {
                let end = scanner.skipValue(position)
                elements.append(JSONValue(start: position, end: end))
                position = scanner.skipSpace(end)
                if buffer[position] == UInt8(ascii: ",") { position = scanner.skipSpace(position + 1) }
            }
            return elements
        }
    }

    /// The members of an object, in order; empty for anything else.
    func members(of object: JSONValue) -> [(name: String, value: JSONValue)] {
        guard kind(of: object) == .object else { return [] }
        var members: [(name: String, value: JSONValue)] = []
        eachMember(of: object) { name, value in
            members.append((string(name) ?? "", value))
            return true
        }
        return members
    }

    /// The member of an object with this name; the first where a name repeats.
    func member(_ name: String, of object: JSONValue) -> JSONValue? {
        guard kind(of: object) == .object else { return nil }
        let wanted = Array(name.utf8)
        var found: JSONValue?
        eachMember(of: object) { key, value in
            let raw = bytes[key.start + 1..<key.end - 1]
            // Names are rarely escaped: bytes are compared first.
            guard raw.elementsEqual(wanted) || (raw.contains(UInt8(ascii: "\\")) && string(key) == name) else { return true }
            found = value
            return false
        }
        return found
    }

    /// The text of a string; nil for anything else. Lone surrogates become U+FFFD.
    func string(_ value: JSONValue) -> String? {
        guard kind(of: value) == .string else { return nil }
        let raw = bytes[value.start + 1..<value.end - 1]
        guard raw.contains(UInt8(ascii: "\\")) else { return String(decoding: raw, as: UTF8.self) }
        return JSONText.unescape(raw)
    }

    /// A whole number, written as a number or as a string of digits (R44); nil for anything else.
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

    /// A string's text, or a number as it is written; nil for anything else. This is how ids are told apart.
    func scalarText(_ value: JSONValue) -> String? {
        switch kind(of: value) {
        case .string: string(value)
        case .number: String(decoding: raw(value), as: UTF8.self)
        case .object, .array, .boolean, .null: nil
        }
    }

    private func eachMember(of object: JSONValue, _ body: (JSONValue, JSONValue) -> Bool) {
        bytes.withUnsafeBufferPointer { buffer in
            let scanner = JSONScanner(buffer)
            var position = scanner.skipSpace(object.start + 1)
            while buffer[position] != UInt8(ascii: "}") {
                let nameEnd = scanner.skipString(position)
                let valueStart = scanner.skipSpace(scanner.skipSpace(nameEnd) + 1)
                let valueEnd = scanner.skipValue(valueStart)
                guard body(JSONValue(start: position, end: nameEnd), JSONValue(start: valueStart, end: valueEnd)) else { return }
                position = scanner.skipSpace(valueEnd)
                if buffer[position] == UInt8(ascii: ",") { position = scanner.skipSpace(position + 1) }
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
