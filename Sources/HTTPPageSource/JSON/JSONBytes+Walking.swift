// Steps through checked text, whose quotes and brackets are known to be closed.
extension JSONBytes {
    func skipString(_ start: Int) -> Int {
        var position = start + 1
        while true {
            while position + 8 <= count {
                let word = word(position)
                let found = word.bytes(equalTo: UInt8(ascii: "\"")) | word.bytes(equalTo: UInt8(ascii: "\\"))
                guard found == 0 else {
                    position += found.trailingZeroBitCount / 8
                    break
                }
                position += 8
            }
            switch self[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
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
