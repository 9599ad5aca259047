#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Records which store the write-ahead log next to a file belongs to.
///
/// SQLite finds a log by its name and trusts it. When another store replaces a file, as `mv` does, the log of the old
/// store remains. SQLite would write the pages of that log over the new store. So the process whose commit begins a log
/// records the store's stamp and the log's salts in `<store>-owners`. That log is refused while the file next to it
/// shows the stamp of another store. A log that is also the log of a store set aside is refused, too. In that case, the
/// process that set the store aside was killed, and another file is now at the path of that store.
///
/// A log without a record is tried on a copy of a sound store: see `CompanionTrial`. It is refused if it would damage
/// the store, or make another store of it. There is no record if a process was killed just after it began a log. A copy
/// of a store with only its log has none either.
///
/// All other logs are trusted. A file without a visible stamp may be a new store, whose stamp is in the file only after
/// the first merge of its log.
enum LogOwner {
    /// Records the owner of the log. Call after a commit that began the log, and after the first commit of a session.
    /// If the record cannot be written, the log stays without a record.
    static func note(_ stamp: StoreStamp?, beside path: String) {
        guard let stamp, let log = salts(path) else { return }
        let words = stamp.words + [log]
        guard words != LogOwner.words(of: path + "-owners", at: 0, count: words.count) else { return }
        let descriptor = open(path + "-owners", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var bytes = words.map(\.bigEndian)
        _ = pwrite(descriptor, &bytes, bytes.count * 8, 0)
    }

    /// Checks the log next to a file before SQLite reads it. Call while this process does not have the file open, see
    /// `OpenStores`.
    /// - Throws: `foreignLog` when the log belongs to a store that was at this path before, and when the log or the
    ///   rollback journal belongs to another store or to an older state of this store; `moved` when the log of an open
    ///   store was removed or cut.
    static func check(_ path: String) throws(StorageError) {
        guard !isCut(path) else {
            throw StorageError(
                .moved, "\(path)-wal was removed or cut while another process has \(path) open; end that process first")
        }
        guard !StoreFile.isOfStoreSetAside(path, "-wal") else { throw foreign(path) }
        guard !StoreFile.isOfStoreSetAside(path, "-journal"), RollbackJournal(of: path)?.isForeign(to: path) != true
        else {
            throw StorageError(.foreignLog, "\(path)-journal does not belong to this state of \(path)")
        }
        guard let log = salts(path) else { return }
        guard let words = words(of: path + "-owners", at: 0, count: 4), words[3] == log,
            let owner = StoreStamp(position: Int64(bitPattern: words[0]), seal: words[1], number: words[2])
        else { return try LogOwner.tryOut(log, of: path) }
        guard let shown = LogOwner.words(of: path, at: owner.position - 8, count: 2),
            let other = StoreStamp(position: owner.position, seal: shown[0], number: shown[1]), other != owner
        else { return }
        throw foreign(path)
    }

    /// Tries out a log whose owner is not recorded. Records the store as the owner of a harmless log, so that the next
    /// opening needs no copy.
    /// - Throws: `foreignLog` when the log would damage a sound store, or make another store of it.
    private static func tryOut(_ log: UInt64, of path: String) throws(StorageError) {
        let size = StoreFile.size(path + "-wal")
        // A log without a page changes nothing.
        guard size > 32 else { return }
        let isUnchanged = { LogOwner.salts(path) == log && StoreFile.size(path + "-wal") == size }
        switch CompanionTrial.outcome(of: "-wal", on: path, isUnchanged: isUnchanged) {
        case .harmful: throw StorageError(.foreignLog, "\(path)-wal does not belong to this state of \(path)")
        case .harmless: note(try? StoreStamp(of: Connection(path: path, .immutable)), beside: path)
        case .unknown: break
        }
    }

    private static func foreign(_ path: String) -> StorageError {
        StorageError(.foreignLog, "\(path)-wal is the log of another store, which \(path) has replaced")
    }

    /// The salts of the log: two numbers that change each time the log restarts
    /// (https://www.sqlite.org/fileformat2.html#walformat). Returns `nil` where there is no log.
    private static func salts(_ path: String) -> UInt64? { words(of: path + "-wal", at: 16, count: 1)?.first }

    /// Returns whether a process that has the store open relies on more of the log than its file holds. The numbers are
    /// read from SQLite's index of the log (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
    private static func isCut(_ path: String) -> Bool {
        let descriptor = open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard StoreFile.isInUse(sharedMemory: descriptor) else { return false }
        var header = [UInt8](repeating: 0, count: 20)
        guard pread(descriptor, &header, header.count, 0) == header.count, header[12] == 1 else { return false }
        let (pageSize, frames) = header.withUnsafeBytes {
            (
                Int($0.loadUnaligned(fromByteOffset: 14, as: UInt16.self)),
                Int($0.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
            )
        }
        return frames > 0 && StoreFile.size(path + "-wal") < 32 + frames * (24 + pageSize)
    }

    /// Reads big-endian numbers of eight bytes from a file. Returns `nil` where there is no such file, or where it ends
    /// earlier.
    private static func words(of path: String, at position: Int64, count: Int) -> [UInt64]? {
        guard position >= 0 else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var words = [UInt64](repeating: 0, count: count)
        guard pread(descriptor, &words, count * 8, off_t(position)) == count * 8 else { return nil }
        return words.map { UInt64(bigEndian: $0) }
    }
}
