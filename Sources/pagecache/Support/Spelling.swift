#if Tool
/// Suggests existing names for a mistyped one. Pure.
enum Spelling {
    /// The largest number of characters to compare. Longer names are compared by their beginnings, because a key can
    /// have any length.
    private static let longest = 120

    /// Indices of the candidates with a name close to `name`, the closest first, at most `limit`.
    /// - Parameter names: all names of each candidate.
    static func suggestions(for name: String, among names: [[String]], limit: Int = 3) -> [Int] {
        let wanted = letters(name)
        guard !wanted.isEmpty else { return [] }
        let ranked = names.enumerated().compactMap { index, names in
            names.compactMap { distance(wanted, letters($0)) }.min().map { (index: index, distance: $0) }
        }
        return ranked.sorted { ($0.distance, $0.index) < ($1.distance, $1.index) }.prefix(limit).map(\.index)
    }

    /// The distance between two names. Returns nil when they are too different for a typing error.
    private static func distance(_ wanted: [Character], _ name: [Character]) -> Int? {
        // People remember a part of a long name. Parts of fewer than three letters match too many names.
        if wanted.count >= 3, contains(name, wanted) { return 0 }
        let most = max(1, wanted.count / 4)
        let edits = self.edits(wanted, name, most: most)
        return edits <= most ? edits : nil
    }

    /// The distance between two options, such as `--limit`. Returns nil when they differ in more than a third of the
    /// letters of `text`, or in more than three letters. A difference of one letter is always accepted.
    static func distance(ofOption text: String, _ name: String) -> Int? {
        let wanted = text.drop { $0 == "-" }
        let most = min(3, max(1, wanted.count / 3))
        let edits = self.edits(Array(wanted), Array(name.drop { $0 == "-" }), most: most)
        return edits <= most ? edits : nil
    }

    private static func letters(_ name: String) -> [Character] { Array(name.lowercased().prefix(longest)) }

    private static func contains(_ name: [Character], _ part: [Character]) -> Bool {
        guard part.count <= name.count else { return false }
        return (0...name.count - part.count).contains { name[$0..<$0 + part.count].elementsEqual(part) }
    }

    /// The number of letters to insert, remove, replace, or swap with their neighbour (the optimal string alignment
    /// distance). A result above `most` is not exact.
    static func edits(_ left: [Character], _ right: [Character], most: Int) -> Int {
        guard abs(left.count - right.count) <= most else { return most + 1 }
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let isSame = left[row] == right[column]
                var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            if let least = current.min(), least > most { return most + 1 }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
#endif
