import CSQLite
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// SQLite's VFS, but for one thing: the frames of a transaction are written to the log with one call (`FrameGatherer`).
///
/// It lies on top of another one (https://www.sqlite.org/vfs.html#vfs_shims), to which all calls go: the files, the locks and the
/// shared memory are the same, so that anybody may open the same store without it at the same time.
///
/// State: those that were registered, which SQLite keeps for as long as the process lives; the mutex keeps two from being made at once.
enum GatheringVFS {
    typealias File = UnsafeMutablePointer<pagecache_file>

    private static let registration = Mutex(())

    /// The name of the one on top of `below`; of the default one only where that is SQLite's own. Another may encrypt or check what
    /// is written, write by write, and would not know several frames for what they are.
    /// - Returns: nil where there is no such VFS, or no memory; then nothing is gathered.
    static func name(over below: String?) -> String? {
        registration.withLock { _ in
            guard let base = sqlite3_vfs_find(below) else { return nil }
            let baseName = String(cString: base.pointee.zName)
            guard below != nil || baseName.hasPrefix("unix") else { return nil }
            let name = "pagecache-" + baseName
            if sqlite3_vfs_find(name) != nil { return name }
            return register(name, over: base) == SQLITE_OK ? name : nil
        }
    }

    private static func register(_ name: String, over base: UnsafeMutablePointer<sqlite3_vfs>) -> Int32 {
        guard let ownName = strdup(name) else { return SQLITE_NOMEM }
        let made = UnsafeMutablePointer<pagecache_vfs>.allocate(capacity: 1)
        // A copy: the other methods are those of the VFS below, and find what is theirs.
        made.initialize(to: pagecache_vfs(base: base.pointee, below: base))
        made.pointee.base.iVersion = min(base.pointee.iVersion, 3)
        made.pointee.base.zName = UnsafePointer(ownName)
        made.pointee.base.szOsFile = base.pointee.szOsFile + Int32(MemoryLayout<pagecache_file>.size)
        made.pointee.base.xOpen = { GatheringVFS.open($0, $1, $2, $3, $4) }
        return UnsafeMutableRawPointer(made).withMemoryRebound(to: sqlite3_vfs.self, capacity: 1) { sqlite3_vfs_register($0, 0) }
    }

    private static func open(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let vfs, let file else { return SQLITE_MISUSE }
        let base = UnsafeMutableRawPointer(vfs).assumingMemoryBound(to: pagecache_vfs.self).pointee.below!
        let isLog = flags & SQLITE_OPEN_WAL != 0
        // What is neither has no lock for writing, and of a log whose database somebody else has opened it is not seen.
        guard isLog ? GatheringFile.isDatabase(sqlite3_database_file_object(name)) : flags & SQLITE_OPEN_MAIN_DB != 0 else {
            return base.pointee.xOpen(base, name, file, flags, outFlags)
        }
        file.pointee.pMethods = nil
        let below = (UnsafeMutableRawPointer(file) + MemoryLayout<pagecache_file>.size).assumingMemoryBound(to: sqlite3_file.self)
        below.pointee.pMethods = nil
        let code = base.pointee.xOpen(base, name, below, flags, outFlags)
        guard code == SQLITE_OK, let methods = below.pointee.pMethods else {
            // A VFS may want to be closed although it failed. SQLite asks no file to that has no methods.
            if let methods = below.pointee.pMethods { _ = methods.pointee.xClose(below) }
            return code == SQLITE_OK ? SQLITE_CANTOPEN : code
        }
        let made = GatheringFile.at(file)
        made.initialize(to: pagecache_file(base: sqlite3_file(), below: below, partner: nil, gatherer: nil))
        if isLog {
            GatheringFile.tie(made, to: GatheringFile.at(sqlite3_database_file_object(name)))
            made.pointee.base.pMethods = GatheringFile.logMethods
        } else {
            made.pointee.base.pMethods = GatheringFile.databaseMethods(like: methods.pointee)
        }
        return SQLITE_OK
    }
}
