extension JSONText {
    /// A whole number in any of JSON's spellings (`30`, `30.0`, `3e1`). Spaces around it, a plus sign and leading zeros
    /// are accepted, too. Returns nil for any other text. Numbers beyond `Int` are clamped, because a total that
    /// large cannot be true (R44).
    ///
    /// Unlike a conversion through `Double`, this one rounds nothing: `1e400` is a large number, and `1e-400` is not
    /// whole.
    static func wholeNumber(_ text: String) -> Int? {
        var rest = Array(text.utf8)[...]
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        rest = rest.drop(while: isSpace)
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }

        guard let whole = takeDigits(&rest) else { return nil }
        var fraction: ArraySlice<UInt8> = []
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard let digits = takeDigits(&rest) else { return nil }
            fraction = digits
        }
        var exponent = 0
        if let letter = rest.first, letter | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            guard let number = takeExponent(&rest) else { return nil }
            exponent = number
        }
        guard rest.isEmpty else { return nil }

        // Digits × 10^scale, without zeros at either end.
        var digits = (Array(whole) + fraction).drop { $0 == UInt8(ascii: "0") }
        guard !digits.isEmpty else { return 0 }
        var scale = exponent - fraction.count
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            scale += 1
        }
        guard scale >= 0 else { return nil }
        return number(digits, scale, isNegative)
    }

    private static func number(_ digits: ArraySlice<UInt8>, _ scale: Int, _ isNegative: Bool) -> Int {
        let clamped = isNegative ? Int.min : Int.max
        // No number of 20 digits fits into `Int`.
        guard digits.count < 20, scale < 20 - digits.count else { return clamped }
        var number = 0
        for digit in digits.map({ Int($0 - UInt8(ascii: "0")) }) + Array(repeating: 0, count: scale) {
            let (shifted, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = shifted.addingReportingOverflow(isNegative ? -digit : digit)
            guard !overflows, !overflowsToo else { return clamped }
            number = sum
        }
        return number
    }

    private static func takeExponent(_ rest: inout ArraySlice<UInt8>) -> Int? {
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        guard let digits = takeDigits(&rest) else { return nil }
        // A larger exponent than any text has digits has the same effect, so the exponent is capped.
        let size = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1 << 40) }
        return isNegative ? -size : size
    }

    /// Removes and returns the digits at the front. Returns nil when there is none.
    private static func takeDigits(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let digits = rest.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        rest = rest[digits.endIndex...]
        return digits.isEmpty ? nil : digits
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D: true
        default: false
        }
    }
}
