/// The name of a parameter as words, so that related names can be made in its style: `sysparm_limit` goes with
/// `sysparm_offset`, and `ResultsPerPage` with `Page`.
struct WordedName {
    /// Signs before the first letter: `_`, `$`, `@`.
    private let prefix: String
    private let words: [String]
    /// The sign between two words. Empty where capitals separate them.
    private let joint: String
    private let isCapitalized: Bool

    init(_ name: String) {
        prefix = String(name.prefix { !$0.isLetter })
        let body = name.dropFirst(prefix.count)
        joint = ["_", "-"].first { body.contains($0) } ?? ""
        isCapitalized = body.first?.isUppercase == true
        if let sign = joint.first {
            words = body.split(separator: sign).map { $0.lowercased() }
        } else {
            var found: [String] = []
            for letter in body {
                if letter.isUppercase || found.isEmpty { found.append("") }
                found[found.count - 1] += letter.lowercased()
            }
            words = found
        }
    }

    /// A name of other words in the same style.
    private func name(_ words: [String]) -> String {
        let styled = words.enumerated().map { index, word in
            joint.isEmpty && (index > 0 || isCapitalized) ? word.prefix(1).uppercased() + word.dropFirst() : word
        }
        return prefix + styled.joined(separator: joint)
    }

    /// The position parameters that go with a size parameter of this name. Empty for any other name.
    var partnersOfSize: [Candidate] {
        if let place = words.lastIndex(of: "limit") {
            return ["offset", "skip", "start"].map { word in
                var other = words
                other[place] = word
                return .offset(name(other))
            }
        }
        if words.suffix(2) == ["page", "size"] {
            let others = [words.dropLast(), words.dropLast() + ["number"]]
            return others.map { .page(name(Array($0)), first: nil) }
        }
        // `maxRows` goes with `startRow`.
        if words.count == 2, words[0] == "max", words[1].hasSuffix("s") {
            return [.offset(name(["start", String(words[1].dropLast())]))]
        }
        if words.suffix(2) == ["per", "page"] { return [.page(name(["page"]), first: nil)] }
        return []
    }

    /// The same words with hyphens: `page_token` becomes `page-token`.
    var hyphenated: String { prefix + words.joined(separator: "-") }
}
