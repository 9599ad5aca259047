#if Tool
#if canImport(Glibc)
import Glibc
#endif

/// Settings of the memory allocator. By default, glibc gives each thread an arena of its own, up to a limit that
/// depends on the number of processors. It returns free memory at the end of an arena to the system once that memory is
/// more than 128 KiB (mallopt(3)). Here the process has two arenas, because about two threads work at a time. Without
/// glibc, the functions do nothing.
enum Arenas {
    /// For commands that read one large page after another. Each page reuses the memory of the page before, instead of
    /// fresh zeroed memory from the system. An export of a million items took twice as long without this setting.
    static func reuse() { set(mmapThreshold: 8 << 20, trimThreshold: 16 << 20) }

    /// For commands that fetch: large blocks return to the system at once. This lowers the peak memory of a first sync
    /// of a million items by a tenth.
    static func giveBack() { set(mmapThreshold: 128 << 10, trimThreshold: 256 << 10) }

    private static func set(mmapThreshold: CInt, trimThreshold: CInt) {
        #if canImport(Glibc)
        // Swift's glibc module contains neither this header nor its constants.
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let mallopt = unsafeBitCast(symbol, to: (@convention(c) (CInt, CInt) -> CInt).self)
        let (trim, mmap, arenaMax): (CInt, CInt, CInt) = (-1, -3, -8)
        _ = mallopt(arenaMax, 2)
        _ = mallopt(mmap, mmapThreshold)
        _ = mallopt(trim, trimThreshold)
        #endif
    }
}
#endif
