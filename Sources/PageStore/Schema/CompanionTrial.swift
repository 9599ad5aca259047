import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Applies the log or the rollback journal that is next to a store to a copy of the store. SQLite finds both by their
/// names, and neither contains the name of its store.
enum CompanionTrial {
    /// The effect of the file on the store.
    enum Outcome {
        /// The store stays sound, and stays the same store.
        case harmless
        /// The store is sound without the file. With the file, the store would be damaged, or would be another store.
        /// So no data is lost when SQLite does not apply the file.
        case harmful
        /// The store is damaged without the file, and may need it. Or another program is at work, or no copy can be
        /// made.
        case unknown
    }

    /// The largest total size of a store and the file, in bytes, of which a copy is made.
    private static let mostBytes = Recreation.mostBytesInMemory

    /// Returns the effect of the file on the store. SQLite applies the file to a copy, whose rows are then verified.
    ///
    /// Call while this process does not have the store open, see `OpenStores`.
    /// - Parameters:
    ///   - suffix: the suffix of the file next to the store.
    ///   - path: the path of the store.
    ///   - isUnchanged: whether the file is still as it was before the call.
    static func outcome(of suffix: String, on path: String, isUnchanged: () -> Bool) -> Outcome {
        guard StoreFile.size(path) + StoreFile.size(path + suffix) <= mostBytes, !isInUse(path) else { return .unknown }
        do throws(StorageError) {
            guard let stamp = try stampIfSound(Connection(path: path, .immutable)) else { return .unknown }
            let folder = try ScratchFolder()
            defer { withExtendedLifetime(folder) {} }
            let copy = "\(folder.path)/store.sqlite"
            for name in ["", suffix] { try FileCopy(path + name).write(to: copy + name) }
            // A program that began meanwhile may have changed both files between the copies.
            guard !isInUse(path), isUnchanged() else { return .unknown }
            return try stampIfSound(Connection(path: copy)) == stamp ? .harmless : .harmful
        } catch {
            return .unknown
        }
    }

    /// Returns the stamp of a store without damage. Returns nil for any other file.
    private static func stampIfSound(_ connection: Connection) throws(StorageError) -> Int64? {
        do throws(StorageError) {
            // With the usual time limit, because the file may be crafted (R46).
            try StoreOpening.harden(connection, SQLitePageStore.Options())
            // The first read applies the file.
            let isOlder = try Migrator.version(of: connection) < Migration.newest
            return try connection.transaction(.read) { () throws(StorageError) -> Int64? in
                guard Verification.run(in: connection, isOlder: isOlder).report.isSound else { return nil }
                return try StoreStamp.intact(in: connection)
            }
        } catch {
            guard [.damaged, .notAStore, .newerSchema].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Returns whether a process holds one of SQLite's locks on the file, or may hold one
    /// (https://www.sqlite.org/fileformat.html#the_lock_byte_page).
    private static func isInUse(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        let lock = ByteLock(descriptor: descriptor)
        let bytes: [Int64] = [0x4000_0000, 0x4000_0001, 0x4000_0002]
        return bytes.contains { lock.isHeldElsewhere(at: $0) != false }
    }
}
