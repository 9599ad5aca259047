/// Compressed bodies (RFC 1951, RFC 1952) that are made by hand: one that is sound, one that is enormous.
public enum Gzip {
    /// The bytes as they are, in blocks that hold them uncompressed: as sound as any other.
    public static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result = header
        var start = 0
        repeat {
            let end = min(start + 0xFFFF, bytes.count)
            let length = UInt16(end - start)
            // RFC 1951, 3.2.4: last or not, the length, and its complement.
            result.append(end == bytes.count ? 1 : 0)
            result += little(length)
            result += little(~length)
            result += bytes[start..<end]
            start = end
        } while start < bytes.count
        return result + little(checksum(bytes)) + little(UInt32(truncatingIfNeeded: bytes.count))
    }

    /// Spaces, so many megabytes of them, a thousand times smaller. It never comes to an end: whoever inflates it all
    /// has lost already.
    /// - Returns: what to send first, what to send then, and how often.
    public static func bomb(megabytes: Int) -> (start: [UInt8], block: [UInt8], times: Int) {
        // A block with a code of its own (RFC 1951, 3.2.7), in which "the same 258 times more" takes two bits, both of
        // them 0: the code, a space, and the first of them. A byte of zeros is four more.
        let start: [UInt8] = [0xEC, 0xC1, 0x81, 0, 0, 0, 0, 0x80, 0x20, 0x95, 0xFD, 0x29, 0x17, 0xA9, 0x0A]
        let block = [UInt8](repeating: 0, count: 4_096)
        return (header + start, block, (megabytes << 20) / (block.count * 4 * 258) + 1)
    }

    /// No name, no time, no extra fields; from an unknown system.
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// CRC-32 (RFC 1952, 8).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
    }
}
