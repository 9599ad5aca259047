#if Tool
import PageModel

/// The growth of a list over the last seconds. Pure.
struct GrowthRate {
    /// The length of the period over which the growth is measured.
    private static let memory = Duration.seconds(10)
    /// The shortest time without growth after which a list has no rate.
    private static let stall = Duration.seconds(2)
    private var samples: [(at: Timestamp, held: Int)] = []

    /// Records the number of held items. A number without growth is not kept, so that a list whose requests fail loses
    /// its rate. A smaller number discards the earlier ones.
    mutating func note(_ held: Int, at now: Timestamp) {
        if let last = samples.last, held <= last.held {
            if held < last.held { samples = [(now, held)] }
            return
        }
        // More than a few samples a second would only cost memory.
        if samples.count > 1, now - samples[samples.count - 2].at < .milliseconds(250) { samples.removeLast() }
        samples.append((now, held))
        while samples.count > 2, now - samples[1].at > GrowthRate.memory { samples.removeFirst() }
    }

    /// Items a second. `nil` before the list has grown for a tenth of a second, and when it has not grown for two
    /// seconds. Without failing pages the list keeps its rate for twice the usual time between two pages, if that is
    /// longer.
    func rate(at now: Timestamp, isFailing: Bool) -> Double? {
        guard let first = samples.first, let last = samples.last, last.held > first.held else { return nil }
        let usual = (last.at - first.at) / (samples.count - 1)
        guard now - last.at < (isFailing ? GrowthRate.stall : max(GrowthRate.stall, usual * 2)) else { return nil }
        let seconds = Double((last.at - first.at).wholeMilliseconds) / 1_000
        return seconds < 0.1 ? nil : Double(last.held - first.held) / seconds
    }
}
#endif
