#if Tool
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The number of files that this process may open. The network library ends the process when it cannot open its own
/// descriptors, so the limit is checked before the first request.
enum DescriptorLimit {
    /// The number of descriptors of a store, its log and its connections, of the resolver and of the terminal.
    private static let base = 16
    /// The number of descriptors of one event loop. There is at most one loop for each processor.
    private static let perLoop = 3

    /// Raises the soft limit to the hard limit where it is too low.
    /// - Parameter concurrency: the number of concurrent requests.
    /// - Throws: `ToolFailure` with status 74 when the hard limit is too low, too.
    static func check(concurrency: Int) throws(ToolFailure) {
        let loops = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let needed = opened() + base + perLoop * loops + concurrency
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
        limit.rlim_cur = limit.rlim_max
        guard setrlimit(resource, &limit) != 0 || limit.rlim_max < needed else { return }
        throw ToolFailure(
            .inputOutput, "too_many_files",
            "too many open files: the limit is \(limit.rlim_max), and this command needs \(needed)",
            hint: "raise the limit with 'ulimit -n \(max(needed, 256))'")
    }

    /// The number of open descriptors below 256. The limit matters only where it is low.
    private static func opened() -> Int { (0..<256).count { fcntl($0, F_GETFD) != -1 } }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}
#endif
