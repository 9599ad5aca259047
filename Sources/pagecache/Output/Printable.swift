#if Tool
/// Makes text from an origin or a store safe for a terminal (R46).
enum Printable {
    /// Replaces control characters, bidirectional controls and most invisible characters with visible escapes.
    static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isDangerous(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        // Bidirectional controls (Unicode Standard Annex 9).
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // Separators at which some terminals break lines, and characters without width: two names must not look alike.
        // The joiners are exempt, because Persian, Indian scripts and emoji need them.
        case 0x00AD, 0x200B, 0x2028, 0x2029, 0x2060...0x2064, 0xFEFF: true
        default: false
        }
    }
}
#endif
