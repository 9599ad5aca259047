/// Handmade compressed bodies (RFC 1951, RFC 1952): a valid one and an enormous one.
public enum Gzip {
    /// Returns a valid gzip body that contains the bytes in uncompressed blocks.
    public static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result = header
        var start = 0
        repeat {
            let end = min(start + 0xFFFF, bytes.count)
            let length = UInt16(end - start)
            // Each block begins with a final flag, the length, and its complement (RFC 1951, 3.2.4).
            result.append(end == bytes.count ? 1 : 0)
            result += little(length)
            result += little(~length)
            result += bytes[start..<end]
            start = end
        } while start < bytes.count
        return result + little(checksum(bytes)) + little(UInt32(truncatingIfNeeded: bytes.count))
    }

    /// Returns a body that inflates to this many megabytes of spaces and is a thousand times smaller. The compressed
    /// stream has no end.
    /// - Returns: The first bytes, the block after them, and how often to repeat the block.
    public static func bomb(megabytes: Int) -> (start: [UInt8], block: [UInt8], times: Int) {
        // The block defines its own codes (RFC 1951, 3.2.7). In it, a repetition of 258 bytes takes two zero bits.
        // `start` contains the codes, a space, and its first repetition. Each zero byte is four more repetitions.
        let start: [UInt8] = [0xEC, 0xC1, 0x81, 0, 0, 0, 0, 0x80, 0x20, 0x95, 0xFD, 0x29, 0x17, 0xA9, 0x0A]
        let block = [UInt8](repeating: 0, count: 4_096)
        return (header + start, block, (megabytes << 20) / (block.count * 4 * 258) + 1)
    }

    /// The header has no name, no time and no extra fields. Its system is unknown.
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Returns the CRC-32 (RFC 1952, 8).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
    }
}
