/// A text that counts the items of a page and of its list: `1-18 of 95`, `Showing 1 to 18 of 95 results`, `0-17/95`.
struct StatedRange: Equatable {
    /// How the text counts the list.
    enum Precision: Equatable { case exact, estimate, lowerBound }

    var first: Int
    var last: Int
    var total: Int
    /// Exact only where the words around the numbers leave no doubt: `of 95 films` is exact, and `of about 95 films` is
    /// an estimate.
    var precision: Precision

    /// The number of items on the page.
    var count: Int { last - first + 1 }

    /// Returns nil for any other text.
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
            first <= last, last <= total,
            let precision = RangeWords.precision(
                before: text[..<numbers[0].startIndex], behind: text[numbers[2].endIndex...])
        else { return nil }
        (self.first, self.last, self.total, self.precision) = (first, last, total, precision)
    }
}

extension StatedRange {
    /// Whether a text counts the items of a page correctly, and the list in a way that cannot be read: `1-18 of 9,500`,
    /// `1-18 of many`.
    static func isOpen(_ text: String, count: Int) -> Bool {
        guard text.utf8.count <= 80, count > 0, StatedRange(text) == nil else { return false }
        let numbers = text.split { !$0.isASCII || !$0.isNumber }
        let words = text.split(omittingEmptySubsequences: false) { $0.isASCII && $0.isNumber }
            .map { $0.lowercased().filter { !$0.isWhitespace } }.filter { !$0.isEmpty }
        let between = text.first?.isNumber == true ? words[...] : words.dropFirst()
        guard numbers.count >= 2, between.count >= 2,
            ["-", "–", "—", "to", "..", "..."].contains(between[between.startIndex]),
            ["of", "outof"].contains(where: { between[between.startIndex + 1].hasPrefix($0) }),
            let first = Int(numbers[0]), let last = Int(numbers[1]), (0...1).contains(first)
        else { return false }
        return last - first + 1 == count
    }
}

/// The words around the numbers of a `StatedRange`.
private enum RangeWords {
    /// The precision of the total, by the words around the numbers. Returns nil when the last number does not count
    /// items: `10K`, `95 thousand`, `95 pages`.
    static func precision(before: Substring, behind: Substring) -> StatedRange.Precision? {
        var rest = behind
        let hasPlus = rest.first == "+" || rest.first == "＋"
        if hasPlus { rest.removeFirst() }
        let mark = rest.prefix { !$0.isWhitespace }
        guard mark.count <= 2, !mark.hasPrefix(".."), mark.allSatisfy({ closing.contains($0) }) else { return nil }
        let following = words(of: rest)
        guard !following.contains(where: { others.contains($0) }) else { return nil }
        if hasPlus || rest.contains(where: { $0 == "+" }) || following.contains(where: { bounds.contains($0) }) {
            return .lowerBound
        }
        // One unknown word names the items: `95 films`. Several words may say more than that.
        let isPlain = following.count == 1 ? !isVague(following[0]) : following.allSatisfy { nouns.contains($0) }
        let hasSign = rest.contains { !$0.isLetter && !$0.isWhitespace && !closing.contains($0) && $0 != "(" }
        return isPlain && !hasSign && !words(of: before).contains(where: isVague) ? .exact : .estimate
    }

    private static func words(of text: Substring) -> [String] {
        text.lowercased().split { !$0.isLetter }.map { String($0) }
    }

    private static func isVague(_ word: String) -> Bool {
        vague.contains(word) || ["approx", "estimat", "rough"].contains { word.hasPrefix($0) }
    }

    private static let closing: Set<Character> = [")", "]", "}", ".", ",", ";", ":", "!", "\"", "'"]
    /// Words that multiply the number, or that name other things than items.
    private static let others: Set<String> = [
        "k", "m", "b", "bn", "mn", "mio", "tsd", "hundred", "hundreds", "thousand", "thousands", "million", "millions",
        "billion", "billions", "lakh", "lakhs", "crore", "crores", "dozen", "dozens", "percent", "page", "pages",
    ]
    private static let bounds: Set<String> = ["more", "plus", "least", "minimum", "min", "over", "above"]
    private static let vague: Set<String> = [
        "about", "around", "circa", "ca", "est", "nearly", "almost", "over", "more", "some", "many", "several", "max",
        "maximum", "limit", "capped", "loaded", "shown", "displayed", "visible", "cached", "fetched", "known", "so",
        "now", "currently", "etc",
    ]
    private static let nouns: Set<String> = [
        "items", "results", "entries", "records", "rows", "documents", "objects", "elements", "matches", "hits",
        "products", "search", "matching", "found", "in", "total", "available",
    ]
}
