/// Seconds in header fields (RFC 9111, 1.2.2): digits and nothing else.
enum DeltaSeconds {
    /// What is too large to be counted counts as this much: some 68 years.
    static let largest = 1 << 31

    /// Nil for a sign, a fraction, words, nothing.
    static func parse(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int(text) ?? largest, largest)
    }
}
