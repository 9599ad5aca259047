import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The journal next to a store that another program has set to a rollback journal. Its own journals may change any page,
/// so only their effect shows whether they belong to it.
extension RollbackJournal {
    /// The largest store, with its journal, of which a copy is made. In bytes.
    private static let mostBytes = Recreation.mostBytesInMemory

    /// Returns whether the journal would damage a sound store, or would make another store of it. The file is sound
    /// without the journal then, so nothing is lost when SQLite does not apply it.
    ///
    /// SQLite undoes the change on a copy, whose rows are then verified. Returns false without a copy where the file is
    /// damaged as it is: the journal may be needed. Also returns false where another program is at work, or no copy can
    /// be made.
    func harms(_ path: String) -> Bool {
        guard StoreFile.size(path) + StoreFile.size(path + "-journal") <= RollbackJournal.mostBytes,
            !RollbackJournal.isInUse(path)
        else { return false }
        do throws(StorageError) {
            guard let stamp = try RollbackJournal.stampIfSound(Connection(path: path, .immutable)) else { return false }
            let folder = try ScratchFolder()
            defer { withExtendedLifetime(folder) {} }
            let copy = "\(folder.path)/store.sqlite"
            for suffix in ["", "-journal"] { try FileCopy(path + suffix).write(to: copy + suffix) }
            // A program that began meanwhile may have changed both files between the copies.
            guard !RollbackJournal.isInUse(path), RollbackJournal(of: path) == self else { return false }
            return try RollbackJournal.stampIfSound(Connection(path: copy)) != stamp
        } catch {
            return false
        }
    }

    /// Returns the stamp of a store without damage. Returns nil for every other file.
    private static func stampIfSound(_ connection: Connection) throws(StorageError) -> Int64? {
        do throws(StorageError) {
            try StoreOpening.harden(connection, SQLitePageStore.Options())
            connection.timeLimit = nil
            // The first read undoes the change.
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
