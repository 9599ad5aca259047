import PageModel

/// The total that an origin reports, true or not.
extension OriginPlan.Totals {
    /// Returns the total that is reported at a request. `lengths` holds the length of the list at first, and at each
    /// request until now.
    func report(_ lengths: [Int], request: Int, seed: UInt64) -> ListTotal {
        let length = lengths.last ?? 0
        switch self {
        case .exact:
            return .exact(length)
        case .lagging(let requests):
            return .exact(lengths.dropLast(min(max(requests, 0), lengths.count - 1)).last ?? length)
        case .capped(let most):
            return .exact(min(length, most))
        case .estimated(let error):
            var random = SeededGenerator(seed: seed, stream: UInt64(request / 4))
            return .estimate(max(length + random.number(in: -max(error, 0)...max(error, 0)), 0))
        case .none:
            return .unknown
        case .zero:
            return .exact(0)
        case .tooLow(let less):
            return .exact(max(length - less, 0))
        case .tooHigh(let more):
            return .exact(length + more)
        case .jittering(let most):
            var random = SeededGenerator(seed: seed, stream: UInt64(request))
            return .exact(max(length + random.number(in: -max(most, 0)...max(most, 0)), 0))
        }
    }

    /// The occurrence to note when such a total is wrong. `nil` means that no occurrence is noted.
    var occurrence: OriginOccurrence? {
        switch self {
        case .exact, .jittering: nil
        case .lagging: .lag
        case .capped: .capped
        case .estimated: .estimated
        case .none: .noTotal
        case .zero: .zero
        case .tooLow: .tooLow
        case .tooHigh: .tooHigh
        }
    }
}
