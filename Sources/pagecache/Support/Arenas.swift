#if Tool
#if canImport(Glibc)
import Glibc
#endif

/// Where memory comes from, and when it goes back. Left alone, glibc gives each of a dozen threads an arena of its own,
/// and returns what lies free at an arena's end as soon as it is 128 KiB (mallopt(3)). Here it is as many arenas as
/// there are threads at work at a time. Elsewhere than with glibc, nothing.
enum Arenas {
    /// For programs that read one large page after the other: what one of them needed, the next one takes, and need not
    /// have it from the system, zeroed, anew. An export of a million items was half as fast without.
    static func reuse() { set(mmapThreshold: 8 << 20, trimThreshold: 16 << 20) }

    /// For programs that fetch: large blocks go back to the system at once. Of the most that a first sync of a million
    /// items has in memory, that is a tenth.
    static func giveBack() { set(mmapThreshold: 128 << 10, trimThreshold: 256 << 10) }

    private static func set(mmapThreshold: CInt, trimThreshold: CInt) {
        #if canImport(Glibc)
        // Its header is not among those that Swift sees of glibc; neither are its constants.
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
