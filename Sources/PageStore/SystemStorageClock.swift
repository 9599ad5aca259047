#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
public import PageModel

/// The system's clock.
public struct SystemStorageClock: StorageClock {
    /// Creates the clock. It has no settings.
    public init() {}

    /// Returns the wall time, in whole milliseconds.
    public func now() -> Timestamp { Timestamp(milliseconds: SystemStorageClock.milliseconds(CLOCK_REALTIME)) }

    /// Returns the time since the machine started, in whole milliseconds, with the id of that start.
    public func uptime() -> Uptime {
        Uptime(
            milliseconds: SystemStorageClock.milliseconds(SystemStorageClock.sinceBoot), boot: SystemStorageClock.boot)
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    #if canImport(Darwin)
    // This clock advances during sleep: clock_gettime(3).
    private static var sinceBoot: clockid_t { CLOCK_MONOTONIC }
    private static let boot = bootSession()

    private static func bootSession() -> String {
        var size = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return "" }
        var bytes = [UInt8](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    #else
    // This clock advances during suspend: clock_gettime(2).
    private static var sinceBoot: clockid_t { clockid_t(CLOCK_BOOTTIME) }
    private static let boot = bootID()

    /// Returns the id of the boot, or an empty text where it cannot be read. Leases from before a restart are then not
    /// recognised by their boot id. They still end at once, because the restart drops their owners' kernel locks (R30).
    private static func bootID() -> String {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 36)
        let count = bytes.withUnsafeMutableBytes { buffer in read(descriptor, buffer.baseAddress, buffer.count) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
    #endif
}
