#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Which store the write-ahead log beside a file belongs to.
///
/// SQLite finds a log by its name and believes it. When another store takes the place of a file, as `mv` does it, the log of the old one
/// stays behind, and SQLite would write its pages over the new one. So each process that opens a store for writing notes the store's
/// stamp in `<store>-owners`, and a log is refused while the file beside it shows the stamp of another store.
///
/// A file that shows no stamp at that place proves nothing: a new store shows none until its log is merged for the first time.
enum LogOwner {
    /// Notes whose log it is. Where the note cannot be written, logs are believed, as without it.
    static func note(_ stamp: StoreStamp?, beside path: String) {
        guard let stamp, stamp != noted(beside: path) else { return }
        let descriptor = open(path + "-owners", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var words = stamp.words.map(\.bigEndian)
        _ = pwrite(descriptor, &words, words.count * 8, 0)
    }

    /// Checks the log beside a file before SQLite reads it. Call while nothing in this process has the file open, see `OpenStores`.
    /// - Throws: `foreignLog` when the log belongs to a store that was here before; `moved` when a process has the store open whose log
    ///   was removed.
    static func check(_ path: String) throws(StorageError) {
        guard !isCut(path) else {
            throw StorageError(.moved, "\(path)-wal was removed or cut while another process has \(path) open; end that process first")
        }
        guard !StoreFile.hasNoLog(path), let owner = noted(beside: path),
            let shown = words(of: path, at: owner.position - 8, count: 2),
            let other = StoreStamp(position: owner.position, seal: shown[0], number: shown[1]), other != owner
        else { return }
        throw StorageError(.foreignLog, "\(path)-wal is the log of another store, which \(path) has replaced")
    }

    /// Whether a process that has the store open counts on more of the log than its file holds. The numbers are those of SQLite's
    /// index of the log (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
    private static func isCut(_ path: String) -> Bool {
        let descriptor = open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Each connection holds this byte; without it the index is left over, and SQLite makes it anew.
        var region = flock()
        region.l_type = Int16(F_WRLCK)
        region.l_whence = Int16(SEEK_SET)
        region.l_start = 128
        region.l_len = 1
        guard fcntl(descriptor, OwnerLock.getCommand, &region) == 0, region.l_type != Int16(F_UNLCK) else { return false }
        var header = [UInt8](repeating: 0, count: 20)
        guard pread(descriptor, &header, header.count, 0) == header.count, header[12] == 1 else { return false }
        let (pageSize, frames) = header.withUnsafeBytes {
            (Int($0.loadUnaligned(fromByteOffset: 14, as: UInt16.self)), Int($0.loadUnaligned(fromByteOffset: 16, as: UInt32.self)))
        }
        return frames > 0 && StoreFile.size(path + "-wal") < 32 + frames * (24 + pageSize)
    }

    private static func noted(beside path: String) -> StoreStamp? {
        guard let words = words(of: path + "-owners", at: 0, count: 3) else { return nil }
        return StoreStamp(position: Int64(bitPattern: words[0]), seal: words[1], number: words[2])
    }

    /// Big-endian numbers of eight bytes in a file. Returns `nil` where there is no such file, or it ends before.
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
