/// Seconds in header fields (RFC 9111, 1.2.2): digits only.
enum DeltaSeconds {
    /// The value for every larger number: 2^31 seconds, about 68 years.
    static let largest = 1 << 31

    /// Returns nil for a sign, a fraction, words, or an empty text.
    static func parse(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int(text) ?? largest, largest)
    }
}
