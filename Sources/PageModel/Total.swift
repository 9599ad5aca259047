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

    /// No list is as long as this, 2^50: a claim beyond it is an estimate at best, and no list is shifted by it (R44).
    static let incredible = 1 << 50

    /// The total for a number an origin claims: negative ones are `unknown`, huge ones are clamped, and no more than
    /// estimates (R44).
    public init(claimed number: Int) {
        switch number {
        case ..<0: self = .unknown
        case ..<Total.incredible: self = .exact(number)
        default: self = .estimate(min(number, Total.largest))
        }
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
