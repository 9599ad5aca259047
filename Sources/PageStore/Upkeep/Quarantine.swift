#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Setting a store aside that SQLite can no longer read.
enum Quarantine {
    /// Renames the store and what lies beside it.
    /// - Returns: where it is now.
    static func setAside(_ file: String, at now: Timestamp) throws(StorageError) -> String {
        guard StoreFile.isOrdinaryOrMissing(file) else {
            throw StorageError(.notAStore, "\(file) is no file, and so no store")
        }
        let target = name(for: file, at: now)
        let inUse = StorageError(.busy, "\(file) is in use; end what has it open first")
        try Recreation.whileAlone(with: file, otherwise: inUse) { () throws(StorageError) in
            var status = stat()
            guard lstat(target, &status) != 0 else {
                throw StorageError(.cannotCreate, "\(target) exists already")
            }
            // The log goes with its file, under the file's new name. It has both names until the file has the new one:
            // whenever this ends, the file has its log.
            for suffix in ["-wal", "-journal"] { link(file + suffix, target + suffix) }
            guard rename(file, target) == 0 else {
                let failure = StoreFile.failure(.inputOutput, "cannot rename \(file)")
                for suffix in ["-wal", "-journal"] { unlink(target + suffix) }
                throw failure
            }
            for suffix in ["-wal", "-journal"] {
                // A file system without links: the log is renamed after its file.
                if StoreFile.exists(target + suffix) {
                    unlink(file + suffix)
                } else {
                    rename(file + suffix, target + suffix)
                }
            }
            unlink(file + "-shm")
            // A FIFO or a directory under one of our names would be in the way of the next store.
            for suffix in ["-shm", "-owners", "-notices"] where !StoreFile.isOrdinaryOrMissing(file + suffix) {
                rename(file + suffix, target + suffix)
            }
        }
        return target
    }

    private static func name(for file: String, at now: Timestamp) -> String { "\(file).corrupt-\(name(of: now))" }

    /// A name for a damaged file that nothing has yet: where the moment's own name is taken, `-2` and so on follow it.
    static func freeName(for file: String, at now: Timestamp) throws(StorageError) -> String {
        let first = name(for: file, at: now)
        for number in 1...mostNamesAMoment {
            let target = number == 1 ? first : "\(first)-\(number)"
            var status = stat()
            if lstat(target, &status) != 0 { return target }
        }
        throw StorageError(.cannotCreate, "\(first) exists already")
    }

    /// Damaged files of one second; more than a person makes.
    private static let mostNamesAMoment = 1_000

    /// The damaged files of a store that lie beside it, by name. Their bytes are those of the store at that time.
    static func setAside(of file: String) -> [String] {
        let slash = file.lastIndex(of: "/")
        let (folder, name) = (
            slash.map { String(file[...$0]) } ?? "./", slash.map { String(file[file.index(after: $0)...]) } ?? file
        )
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let other = withUnsafePointer(to: &entry.pointee.d_name) { start in
                start.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if other.hasPrefix("\(name).corrupt-") { found.append((slash == nil ? "" : folder) + other) }
        }
        return found.sorted()
    }

    /// The moment as ISO 8601 writes it without punctuation, in UTC: 20261121T120000Z.
    private static func name(of moment: Timestamp) -> String {
        var seconds = time_t(moment.milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ number: Int32, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = digits(parts.tm_year + 1_900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2)
        return date + "T" + digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2) + "Z"
    }
}
