#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// A store whose file was truncated. The header states more pages than the file has, so SQLite refuses to read any
/// (https://www.sqlite.org/fileformat2.html#in_header_database_size).
enum ShortFile {
    /// Writes the actual number of pages to the header. References to missing pages cannot be followed then, and a
    /// repair reads around them.
    /// - Returns: whether the header stated more pages. Otherwise nothing was changed.
    /// - Throws: `busy` when a process has the file open.
    static func correctPageCount(_ path: String) throws(StorageError) -> Bool {
        let inUse = StorageError(.busy, "\(path) is in use; end the processes that have it open")
        guard try isShort(path, otherwise: inUse) else { return false }
        return try Recreation.whileAlone(with: path, otherwise: inUse) { () throws(StorageError) in
            guard let pages = try pagesThatAre(in: path) else { return false }
            let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { throw StoreFile.failure(.inputOutput, "cannot open \(path)") }
            // Closing this descriptor drops the locks of `whileAlone`, which are no longer needed.
            defer { close(descriptor) }
            let count = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: pages >> $0) }
            guard pwrite(descriptor, count, 4, countPlace) == 4, fsync(descriptor) == 0 else {
                throw StoreFile.failure(.inputOutput, "cannot write \(path)")
            }
            return true
        }
    }

    /// Returns whether the header states more pages than the file has. Throws `inUse` when this process has the file open.
    static func isShort(_ path: String, otherwise inUse: StorageError) throws(StorageError) -> Bool {
        try OpenStores.whileClosed(path, otherwise: inUse) { () throws(StorageError) in
            try pagesThatAre(in: path) != nil
        }
    }

    private static let countPlace: off_t = 28

    /// Returns the number of pages of the file, if its header states more. Returns `nil` for a file that is not too
    /// short, or is not a store. Call while this process does not have the file open, see `OpenStores`.
    private static func pagesThatAre(in path: String) throws(StorageError) -> Int? {
        guard try StoreFile.kind(of: path) == .store else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFile.failure(.inputOutput, "cannot open \(path)") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        guard pread(descriptor, &header, 100, 0) == 100 else { return nil }
        let stated = Int(header[16]) << 8 | Int(header[17])
        let pageSize = stated == 1 ? 65_536 : stated
        guard pageSize >= 512 else { return nil }
        let pages = StoreFile.size(path) / pageSize
        return pages > 0 && header[28..<32].reduce(0) { $0 << 8 | Int($1) } > pages ? pages : nil
    }
}
