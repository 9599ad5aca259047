/// What the origin says about the length of a list (R44).
public enum Total: Hashable, Sendable {
    /// The origin counts the list, and nothing seen so far contradicts it.
    case exact(Int)
    /// A number that has been contradicted, or that the origin itself calls an estimate.
    case estimate(Int)
    /// The origin does not say, or said nonsense.
    case unknown

    /// The largest total that is believed: 2^53, the last integer that every JSON reader agrees on (R44).
    public static let largest = 1 << 53

    /// The total for a number an origin claims: negative ones are `unknown`, huge ones are clamped (R44).
    public init(claimed number: Int) {
        self = number < 0 ? .unknown : .exact(min(number, Total.largest))
    }

    /// The number, whatever its worth.
    public var count: Int? {
        switch self {
        case .exact(let count), .estimate(let count): count
        case .unknown: nil
        }
    }

    /// The number, when it can serve as a check digit (R17).
    public var exactCount: Int? {
        if case .exact(let count) = self { count } else { nil }
    }
}
