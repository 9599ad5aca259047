/// A text that counts the items of a page and of its list: `1-18 of 95`, `Showing 1 to 18 of 95 results`, `0-17/95`.
struct StatedRange: Equatable {
    var first: Int
    var last: Int
    var total: Int

    /// The number of items on the page.
    var count: Int { last - first + 1 }

    /// Returns nil for every other text.
    init?(_ text: String) {
        guard text.utf8.count <= 80 else { return nil }
        let numbers = text.split { !$0.isASCII || !$0.isNumber }
        let words = text.split(omittingEmptySubsequences: false) { $0.isASCII && $0.isNumber }
            .map { $0.lowercased().filter { !$0.isWhitespace } }.filter { !$0.isEmpty }
        let between = text.first?.isNumber == true ? words[...] : words.dropFirst()
        guard numbers.count == 3, between.count >= 2,
            ["-", "–", "—", "to", "..", "..."].contains(between[between.startIndex]),
            ["of", "outof", "/", "from"].contains(between[between.startIndex + 1]),
            let first = Int(numbers[0]), let last = Int(numbers[1]), let total = Int(numbers[2]),
            first <= last, last <= total
        else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }
}
