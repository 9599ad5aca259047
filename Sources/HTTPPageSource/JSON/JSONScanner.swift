/// Steps over JSON byte by byte (RFC 8259). `checkValue` believes nothing; the `skip…` functions walk what has been
/// checked, and are meant for nothing else.
struct JSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    func skipSpace(_ start: Int) -> Int {
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return position
            }
        }
        return position
    }

    // MARK: Checking

    /// The end of the value that starts at `start`. Iterative: hostile nesting must not use up the stack.
    mutating func checkValue(_ start: Int, depthLimit: Int) throws(JSONError) -> Int {
        var closers: [UInt8] = []  // what each open array or object waits for
        var position = start
        while true {
            // A value begins here.
            guard position < bytes.count else { throw .malformed(at: position) }
            switch bytes[position] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = bytes[position] == UInt8(ascii: "{")
                guard closers.count < depthLimit else { throw .tooDeep }
                let closer = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
                position = skipSpace(position + 1)
                if position < bytes.count, bytes[position] == closer {
                    position += 1
                    break
                }
                closers.append(closer)
                if isObject { position = try checkName(position) }
                continue
            case UInt8(ascii: "\""): position = try checkString(position)
            case UInt8(ascii: "t"): position = try checkWord("true", position)
            case UInt8(ascii: "f"): position = try checkWord("false", position)
            case UInt8(ascii: "n"): position = try checkWord("null", position)
            default: position = try checkNumber(position)
            }
            // A value ended here: close what it closes, and find where the next one begins.
            while true {
                guard let closer = closers.last else { return position }
                position = skipSpace(position)
                guard position < bytes.count else { throw .malformed(at: position) }
                if bytes[position] == closer {
                    closers.removeLast()
                    position += 1
                    continue
                }
                guard bytes[position] == UInt8(ascii: ",") else { throw .malformed(at: position) }
                position = skipSpace(position + 1)
                if closer == UInt8(ascii: "}") { position = try checkName(position) }
                break
            }
        }
    }

    /// The start of the value behind the member name at `start`.
    private func checkName(_ start: Int) throws(JSONError) -> Int {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { throw .malformed(at: start) }
        let colon = skipSpace(try checkString(start))
        guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { throw .malformed(at: colon) }
        return skipSpace(colon + 1)
    }

    private func checkString(_ start: Int) throws(JSONError) -> Int {
        var position = start + 1
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") { return position + 1 }
            guard byte >= 0x20 else { throw .malformed(at: position) }
            guard byte == UInt8(ascii: "\\") else {
                position += 1
                continue
            }
            guard position + 1 < bytes.count else { break }
            switch bytes[position + 1] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                position += 2
            case UInt8(ascii: "u"):
                guard position + 6 <= bytes.count, (position + 2..<position + 6).allSatisfy({ isHex(bytes[$0]) })
                else { throw .malformed(at: position) }
                position += 6
            default:
                throw .malformed(at: position)
            }
        }
        throw .malformed(at: bytes.count)
    }

    private func checkWord(_ word: StaticString, _ start: Int) throws(JSONError) -> Int {
        let length = word.utf8CodeUnitCount
        guard start + length <= bytes.count, (0..<length).allSatisfy({ bytes[start + $0] == word.utf8Start[$0] })
        else { throw .malformed(at: start) }
        return start + length
    }

    private func checkNumber(_ start: Int) throws(JSONError) -> Int {
        var position = start
        func digits() throws(JSONError) {
            let first = position
            while position < bytes.count, isDigit(bytes[position]) { position += 1 }
            guard position > first else { throw .malformed(at: position) }
        }
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
        return position
    }

    // MARK: Walking what has been checked

    func skipString(_ start: Int) -> Int {
        var position = start + 1
        while bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return position + 1
    }

    func skipValue(_ start: Int) -> Int {
        var position = start
        var depth = 0
        while true {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position = skipString(position)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                position += 1
                continue
            default:
                while position < bytes.count, !isDelimiter(bytes[position]) { position += 1 }
            }
            if depth == 0 { return position }
        }
    }

    private func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x09, 0x0A, 0x0D: true
        default: false
        }
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private func isHex(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"))
    }
}
