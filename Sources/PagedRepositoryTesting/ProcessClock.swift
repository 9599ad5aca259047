import PageModel
import PagedRepository

/// The system's time, for a storage that lives no longer than its process.
struct ProcessClock: StorageClock {
    private static let start = ContinuousClock.now

    func now() -> Timestamp { SystemClock().now() }

    func uptime() -> Uptime {
        Uptime(milliseconds: ProcessClock.start.duration(to: .now).wholeMilliseconds, boot: "process")
    }
}
