#if Tool
#if canImport(Glibc)
import Glibc
#endif

/// Where memory comes from.
enum Arenas {
    /// Left alone, glibc gives each of a dozen threads an arena of its own, and keeps more for later the larger the blocks are
    /// that were given back. Here it is as many arenas as there are threads at work at a time, and large blocks go back to the
    /// system: of the most that a first sync of a million items has in memory, that is a tenth (mallopt(3)). For programs that fetch:
    /// where one large page is read after the other, it takes two fifths more time. Elsewhere, nothing.
    static func limit() {
        #if canImport(Glibc)
        // Its header is not among those that Swift sees of glibc; neither are its constants.
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let mallopt = unsafeBitCast(symbol, to: (@convention(c) (CInt, CInt) -> CInt).self)
        let (trimThreshold, mmapThreshold, arenaMax): (CInt, CInt, CInt) = (-1, -3, -8)
        _ = mallopt(arenaMax, 2)
        _ = mallopt(mmapThreshold, 128 << 10)
        _ = mallopt(trimThreshold, 256 << 10)
        #endif
    }
}
#endif
