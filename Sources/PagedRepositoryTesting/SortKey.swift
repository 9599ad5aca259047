/// A key that sorts items: a fraction between 0 and 1 in base 65,536, of any length. Between any two keys there is room
/// for another.
///
/// An insertion changes the key of no other item. A token with a key therefore still marks a place in the list when its
/// item is gone.
struct SortKey: Hashable, Comparable, Sendable {
    /// The digits after the point. The last digit is never 0, so that a fraction has only one representation.
    private let digits: [UInt16]

    static func < (left: SortKey, right: SortKey) -> Bool { left.digits.lexicographicallyPrecedes(right.digits) }

    /// Returns a key between two others. `nil` for `low` means the start of all keys, and `nil` for `high` means their
    /// end.
    static func between(_ low: SortKey?, _ high: SortKey?) -> SortKey {
        var digits: [UInt16] = []
        // Becomes `nil` once the digits are below those of `high`, because any further digit is then allowed.
        var high = high
        while true {
            let floor = Int(low?.digit(digits.count) ?? 0)
            let ceiling = high.map { Int($0.digit(digits.count)) } ?? 1 << 16
            precondition(floor <= ceiling, "there is no key between a key and a lower one")
            if ceiling - floor > 1 {
                return SortKey(digits: digits + [UInt16((floor + ceiling) / 2)])
            }
            digits.append(UInt16(floor))
            if floor < ceiling { high = nil }
        }
    }

    /// Returns this many ascending keys between two others. Repeated halving keeps the keys short.
    static func spread(_ count: Int, between low: SortKey?, and high: SortKey?) -> [SortKey] {
        guard count > 0 else { return [] }
        let middle = between(low, high)
        return spread(count / 2, between: low, and: middle) + [middle]
            + spread(count - count / 2 - 1, between: middle, and: high)
    }

    private init(digits: [UInt16]) { self.digits = digits }

    private func digit(_ index: Int) -> UInt16 { digits.indices.contains(index) ? digits[index] : 0 }

    /// The digits in hexadecimal, such as `8000.4`.
    var text: String { digits.map { String($0, radix: 16) }.joined(separator: ".") }

    /// The key with this text. Returns nil when the text is not that of a key.
    init?(text: some StringProtocol) {
        let digits = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt16($0, radix: 16) }
        guard let last = digits.last, last != 0, !digits.contains(nil) else { return nil }
        self.digits = digits.compactMap(\.self)
    }
}
