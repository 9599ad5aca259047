/// The length of a list according to its origin (R44).
public enum ListTotal: Hashable, Sendable {
    /// The origin's count, which no answer has contradicted.
    case exact(Int)
    /// A number that an answer has contradicted, or that the origin itself calls an estimate.
    case estimate(Int)
    /// The origin reports no number, or an impossible one.
    case unknown

    /// The largest accepted total: 2^53, the largest integer that all JSON readers represent alike (R44).
    public static let largest = 1 << 53

    /// The smallest number that is not accepted as an exact total: 2^50. No real list is that long. As an estimate such
    /// a number shifts no list (R44).
    static let incredible = 1 << 50

    /// The total for a number that an origin claims. Negative numbers become `unknown`. Numbers from 2^50 on become
    /// estimates, clamped to 2^53 (R44).
    public init(claimed number: Int) {
        switch number {
        case ..<0: self = .unknown
        case ..<ListTotal.incredible: self = .exact(number)
        default: self = .estimate(min(number, ListTotal.largest))
        }
    }

    /// The number, exact or not; `nil` when it is unknown.
    public var count: Int? {
        switch self {
        case .exact(let count), .estimate(let count): count
        case .unknown: nil
        }
    }

    /// The number if it is exact; otherwise `nil`. Only an exact total can confirm that page one explains all changes
    /// of the list (R17).
    public var exactCount: Int? {
        if case .exact(let count) = self { count } else { nil }
    }
}
