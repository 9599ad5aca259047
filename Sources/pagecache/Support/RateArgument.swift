#if Tool
import ArgumentParser

/// A rate of requests as people write it: `5/s`, `30/m`, `100/h`. From one in 1,000 seconds to 1,000 a second.
struct RateArgument: ExpressibleByArgument, Hashable {
    var perSecond: Double

    init?(argument: String) {
        let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3_600]
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = units[parts[1]], let count = Double(parts[0]),
            (0.001...1_000).contains(count / seconds)
        else { return nil }
        perSecond = count / seconds
    }
}
#endif
