import Foundation
import Measuring

/// The resources that this process has used.
enum Machine {
    /// Processor time of all its threads so far.
    static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// The most memory that was resident at a time, in bytes; not a number where the system does not tell.
    static var peakMemory: Double { status("VmHWM") }

    /// The memory that is resident now.
    static var memory: Double { status("VmRSS") }

    /// A line of /proc/self/status, proc(5): a name, a colon, kilobytes.
    private static func status(_ name: String) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return .nan }
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return words.count > 1 ? (Double(words[1]) ?? .nan) * 1_024 : .nan
        }
        return .nan
    }

    /// Returns once the process has nothing to do, with the last moment at which it had.
    @discardableResult
    static func settled() async throws -> ContinuousClock.Instant {
        var busyUntil = ContinuousClock.now
        var used = processorTime
        var calm = 0
        while calm < 5 {
            try await Task.sleep(for: .milliseconds(20))
            // A twentieth of a processor is the looking itself, and what a runtime does besides.
            let isBusy = processorTime - used > .milliseconds(1)
            used = processorTime
            calm = isBusy ? 0 : calm + 1
            if isBusy { busyUntil = .now }
        }
        return busyUntil
    }

    /// Milliseconds of processor time a second, while no call is made.
    static func idleCost(seconds: Int) async throws -> Double {
        let (start, before) = (ContinuousClock.now, processorTime)
        // The benchmark measures this idle time.
        try await Task.sleep(for: .seconds(seconds))
        return (processorTime - before).milliseconds / ((ContinuousClock.now - start).milliseconds / 1_000)
    }
}
