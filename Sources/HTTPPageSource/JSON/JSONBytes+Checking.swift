// Checks of text that is not checked yet. Every byte is read only after a check that it exists.
extension JSONBytes {
    /// The start of the value after the member name at `start`.
    @inline(__always)
    func checkName(_ start: Int) throws(JSONError) -> Int {
        guard start < count, self[start] == UInt8(ascii: "\"") else { throw .malformed(at: start) }
        let colon = skipSpace(try checkString(start))
        guard colon < count, self[colon] == UInt8(ascii: ":") else { throw .malformed(at: colon) }
        return skipSpace(colon &+ 1)
    }

    @inline(__always)
    func checkString(_ start: Int) throws(JSONError) -> Int {
        let position = skipPlain(start &+ 1)
        return position < count && self[position] == UInt8(ascii: "\"") ? position &+ 1 : try checkRest(position)
    }

    /// The end of a string that has an escape or a byte beyond ASCII at `start`, or does not end.
    @inline(never)
    private func checkRest(_ start: Int) throws(JSONError) -> Int {
        var position = start
        while true {
            guard position < count else { throw .malformed(at: position) }
            switch self[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position = try checkEscape(position)
            case 0x80...: position = try checkSequence(position)
            default: throw .malformed(at: position)
            }
            position = skipPlain(position)
        }
    }

    /// The position of the first byte from `start` on that is not plain ASCII text. Such a byte is a quote, a
    /// backslash, a control character, or the first byte of a longer sequence. Returns the end of the text when there
    /// is none.
    @inline(__always)
    private func skipPlain(_ start: Int) -> Int {
        var position = start
        // Most strings end in the first block.
        guard position &+ ByteBlock.size <= count else { return skipPlainTail(position) }
        let found = block(position).firstSpecial
        position &+= found
        return found < ByteBlock.size ? position : skipPlainBlocks(position)
    }

    /// `skipPlain` for long strings, two blocks at a time.
    @inline(never)
    private func skipPlainBlocks(_ start: Int) -> Int {
        var position = start
        while position &+ 2 &* ByteBlock.size <= count {
            let (one, two) = (block(position), block(position &+ ByteBlock.size))
            if ByteBlock.hasSpecial(one, two) { break }
            position &+= 2 &* ByteBlock.size
        }
        while position &+ ByteBlock.size <= count {
            let found = block(position).firstSpecial
            position &+= found
            if found < ByteBlock.size { return position }
        }
        return skipPlainTail(position)
    }

    /// Does the work of `skipPlain` in the last bytes of the text, which fill no whole block.
    @inline(never)
    private func skipPlainTail(_ start: Int) -> Int {
        var position = start
        while position + 8 <= count {
            let word = word(position)
            let found =
                word.bytes(below: 0x20) | word.bytes(equalTo: UInt8(ascii: "\"")) | word.bytesBeyondASCII
                | word.bytes(equalTo: UInt8(ascii: "\\"))
            guard found == 0 else { return position + found.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < count {
            let byte = self[position]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
                return position
            }
            position += 1
        }
        return position
    }

    private func checkEscape(_ start: Int) throws(JSONError) -> Int {
        guard start + 1 < count else { throw .malformed(at: count) }
        switch self[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            guard start + 6 <= count, isHex(self[start + 2]), isHex(self[start + 3]), isHex(self[start + 4]),
                isHex(self[start + 5])
            else { throw .malformed(at: start) }
            return start + 6
        default:
            throw .malformed(at: start)
        }
    }

    /// The end of the sequence of two to four bytes at `start`, exactly by RFC 3629, 4. Overlong forms, surrogates and
    /// values beyond U+10FFFF are malformed.
    private func checkSequence(_ start: Int) throws(JSONError) -> Int {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch self[start] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw .malformed(at: start)
        }
        guard start + length <= count, second.contains(self[start + 1]) else { throw .malformed(at: start) }
        var position = start + 2
        while position < start + length {
            guard self[position] & 0xC0 == 0x80 else { throw .malformed(at: start) }
            position += 1
        }
        return position
    }

    @inline(__always)
    func checkWord(_ word: StaticString, _ start: Int) throws(JSONError) -> Int {
        let length = word.utf8CodeUnitCount
        guard start + length <= count else { throw .malformed(at: start) }
        for index in 0..<length where self[start + index] != word.utf8Start[index] { throw .malformed(at: start) }
        return start + length
    }

    func checkNumber(_ start: Int) throws(JSONError) -> Int {
        var position = start
        if self[position] == UInt8(ascii: "-") { position &+= 1 }
        // No digit may follow a leading zero.
        if position < count, self[position] == UInt8(ascii: "0") {
            position &+= 1
        } else {
            position = try checkDigits(position)
        }
        guard position < count else { return position }
        if self[position] == UInt8(ascii: ".") {
            position = try checkDigits(position &+ 1)
            guard position < count else { return position }
        }
        return self[position] | 0x20 == UInt8(ascii: "e") ? try checkExponent(position) : position
    }

    @inline(never)
    private func checkExponent(_ start: Int) throws(JSONError) -> Int {
        var position = start + 1
        if position < count, self[position] == UInt8(ascii: "+") || self[position] == UInt8(ascii: "-") {
            position += 1
        }
        return try checkDigits(position)
    }

    @inline(__always)
    private func checkDigits(_ start: Int) throws(JSONError) -> Int {
        var position = start
        while position < count, isDigit(self[position]) { position &+= 1 }
        guard position > start else { throw .malformed(at: position) }
        return position
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private func isHex(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"))
    }
}
