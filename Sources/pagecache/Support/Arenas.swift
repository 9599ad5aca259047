#if Tool
#if canImport(Glibc)
import Glibc
#endif

/// Where memory comes from.
enum Arenas {
    /// As many as there are threads at work at a time. Left alone, glibc gives each of a dozen threads an arena of its own, and a
    /// first sync of a million items keeps a tenth more in memory (mallopt(3)). Elsewhere, nothing.
    static func limit() {
        #if canImport(Glibc)
        // Its header is not among those that Swift sees of glibc; neither is its constant, M_ARENA_MAX.
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let mallopt = unsafeBitCast(symbol, to: (@convention(c) (CInt, CInt) -> CInt).self)
        _ = mallopt(-8, 2)
        #endif
    }
}
#endif
