#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The access rights of this user to the files of a store. SQLite does not name the file that it could not open.
extension StoreFile {
    /// Returns the file or the directory for which this user lacks the permission that SQLite needs. Returns nil if there
    /// is none. A file that cannot be read is returned before one that cannot be written.
    /// - Parameters:
    ///   - path: the resolved path of the store.
    ///   - isDenied: whether this user lacks `R_OK` or `W_OK` for an existing path. Defaults to the answer of the system.
    static func deniedPath(
        of path: String, isDenied: (_ path: String, _ access: Int32) -> Bool = StoreFile.isDenied
    ) -> String? {
        let files = ["-shm", "-wal", "-journal", ""].map { path + $0 }
        if let file = files.first(where: { isDenied($0, R_OK) }) { return file }
        // SQLite creates the shared memory to read a store, too.
        let directory = split(path).directory
        if !exists(path + "-shm"), isDenied(directory, W_OK) { return directory }
        return files.first { isDenied($0, W_OK) }
    }

    /// Returns whether the system denies the effective user an access to an existing path.
    static func isDenied(_ path: String, _ access: Int32) -> Bool {
        faccessat(AT_FDCWD, path, access, AT_EACCESS) != 0 && errno == EACCES
    }
}
