#if Tool
import ArgumentParser

/// A rate of requests as people write it: `5/s`, `30/m`, `100/h`. From one in 1,000 seconds to 1,000 a second.
struct RateArgument: ExpressibleByArgument, Hashable {
    var perSecond: Double

    init?(argument: String) {
        guard let rate = RateArgument.rate(argument), (0.001...1_000).contains(rate) else { return nil }
        perSecond = rate
    }

    /// Returns the requests per second of a text in this form, without an upper limit. Returns nil for another text.
    static func rate(_ argument: String) -> Double? {
        let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3_600]
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = units[parts[1]], let count = Double(parts[0]) else { return nil }
        return count / seconds
    }
}
#endif
