/// A random number generator with a seed. The same seed gives the same numbers on every machine.
///
/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator of the numbers of this seed.
    public init(seed: UInt64) { state = seed }

    /// Returns the next number, from 0 to 2^64 − 1.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Choices that depend on the seed alone. Those of the standard library may differ between versions of the library.
extension SeededGenerator {
    /// A generator of one of the many sequences of numbers that belong to a seed.
    init(seed: UInt64, stream: UInt64) {
        var source = SeededGenerator(seed: seed ^ (stream &* 0xD134_2543_DE82_EF95))
        self.init(seed: source.next())
    }

    /// Returns a number from 0 up to, but not including, `limit`. Returns 0 when `limit` is not positive.
    mutating func number(below limit: Int) -> Int {
        // The remainder favours small numbers by less than one in a billion for the limits used here.
        limit > 0 ? Int(next() % UInt64(limit)) : 0
    }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + number(below: range.count)
    }

    /// Returns true with this probability in percent.
    mutating func isLikely(_ percent: Int) -> Bool { number(below: 100) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(below: elements.count)] }

    /// Returns one of several elements, with a probability in proportion to its weight.
    mutating func pick<Element>(weighted elements: [(weight: Int, element: Element)]) -> Element {
        var ticket = number(below: elements.reduce(0) { $0 + $1.weight })
        for (weight, element) in elements {
            if ticket < weight { return element }
            ticket -= weight
        }
        preconditionFailure("there is nothing to pick from")
    }
}
