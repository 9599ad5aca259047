#if Tool
import PageModel

/// The growth of a list over the last seconds. Pure.
struct GrowthRate {
    private static let memory = Duration.seconds(10)
    /// The time without growth after which a list has no rate.
    private static let stall = Duration.seconds(3)
    private var samples: [(at: Timestamp, held: Int)] = []

    /// Records the number of held items. A measurement without growth is no sample, so that a list whose requests fail
    /// has no rate after a while. A smaller number begins anew.
    mutating func note(_ held: Int, at now: Timestamp) {
        if let last = samples.last, held <= last.held {
            if held < last.held { samples = [(now, held)] }
            return
        }
        samples.append((now, held))
        while samples.count > 2, now - samples[1].at > GrowthRate.memory { samples.removeFirst() }
    }

    /// Items a second. `nil` when the list has not grown for some seconds.
    func rate(at now: Timestamp) -> Double? {
        guard let first = samples.first, let last = samples.last, last.held > first.held,
            now - last.at < GrowthRate.stall
        else { return nil }
        let seconds = Double((last.at - first.at).wholeMilliseconds) / 1_000
        return seconds < 0.1 ? nil : Double(last.held - first.held) / seconds
    }
}
#endif
