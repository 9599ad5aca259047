// Steps through checked text, whose quotes and brackets are known to be closed.
extension JSONBytes {
    @inline(__always)
    func skipString(_ start: Int) -> Int {
        let end = plainEnd(start + 1)
        return self[end] == UInt8(ascii: "\"") ? end + 1 : skipRest(end)
    }

    /// The end of a string that has a backslash at `start`.
    private func skipRest(_ start: Int) -> Int {
        var position = start
        while self[position] == UInt8(ascii: "\\") { position = plainEnd(position + 2) }
        return position + 1
    }

    /// The position of the first quote or backslash from `start` on.
    @inline(__always)
    func plainEnd(_ start: Int) -> Int {
        var position = start
        while position &+ ByteBlock.size <= count {
            let found = block(position).firstQuoteOrBackslash
            position &+= found
            if found < ByteBlock.size { return position }
        }
        return plainEndNearTheEnd(position)
    }

    private func plainEndNearTheEnd(_ start: Int) -> Int {
        var position = start
        while self[position] != UInt8(ascii: "\""), self[position] != UInt8(ascii: "\\") { position += 1 }
        return position
    }

    func skipValue(_ start: Int) -> Int {
        var position = start
        var depth = 0
        while true {
            switch self[position] {
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
                while position < count, !isDelimiter(self[position]) { position += 1 }
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
}
