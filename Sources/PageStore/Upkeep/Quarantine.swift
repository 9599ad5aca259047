#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Sets aside a store that SQLite can no longer read.
enum Quarantine {
    /// Renames the store and the files next to it.
    /// - Returns: the new path.
    static func setAside(_ file: String, at now: Timestamp) throws(StorageError) -> String {
        let inUse = StorageError(.busy, "\(file) is in use; end the processes that have it open")
        // This check comes first, so that no file is written next to a file of another program.
        do throws(StorageError) {
            _ = try OpenStores.whileClosed(file, otherwise: inUse) { () throws(StorageError) in
                try StoreFile.kind(of: file)
            }
        } catch {
            guard error.code == .damaged else { throw error }
        }
        let target = name(for: file, at: now)
        try Recreation.whileAlone(with: file, otherwise: inUse) { () throws(StorageError) in
            try? Salvage.removeLeftovers(of: file)
            // SQLite would take an existing log with the new name for the log of this file.
            for name in [target, target + "-wal", target + "-journal"] where StoreFile.exists(name) {
                throw StorageError(.cannotCreate, "\(name) exists already")
            }
            // The log must have the name of its file. The log has both names until the file is renamed, so the file has
            // its log whenever this process ends.
            for suffix in ["-wal", "-journal"] { link(file + suffix, target + suffix) }
            do throws(StorageError) {
                try StoreFile.syncDirectory(of: file)
                guard rename(file, target) == 0 else {
                    throw StoreFile.failure(.inputOutput, "cannot rename \(file)")
                }
            } catch {
                for suffix in ["-wal", "-journal"] { unlink(target + suffix) }
                throw error
            }
            var unsynced: StorageError?
            do throws(StorageError) { try StoreFile.syncDirectory(of: file) } catch { unsynced = error }
            for suffix in ["-wal", "-journal"] {
                // On a file system without hard links the log is renamed after its file.
                if StoreFile.exists(target + suffix) {
                    // The log keeps both names until the new name of its file is on the disk.
                    if unsynced == nil { unlink(file + suffix) }
                } else {
                    rename(file + suffix, target + suffix)
                }
            }
            unlink(file + "-shm")
            // A FIFO or a directory under one of these names would block the next store.
            for suffix in ["-shm", "-owners", "-notices"] where !StoreFile.isOrdinaryOrMissing(file + suffix) {
                rename(file + suffix, target + suffix)
            }
            if let unsynced {
                throw StorageError(
                    .inputOutput, "\(file) is now \(target); a power loss may undo that: \(unsynced.message)",
                    cause: unsynced)
            }
        }
        return target
    }

    private static func name(for file: String, at now: Timestamp) -> String { "\(file).corrupt-\(name(of: now))" }

    /// Returns an unused name for a damaged file. Where the name with the time is taken, appends `-2`, `-3` and so on.
    static func freeName(for file: String, at now: Timestamp) throws(StorageError) -> String {
        let first = name(for: file, at: now)
        for number in 1...mostNamesAMoment {
            let target = number == 1 ? first : "\(first)-\(number)"
            var status = stat()
            if lstat(target, &status) != 0 { return target }
        }
        throw StorageError(.cannotCreate, "\(first) exists already")
    }

    /// The largest number of damaged files with the same second in their names. `freeName` throws beyond it.
    private static let mostNamesAMoment = 1_000

    /// Returns the damaged files next to a store, by name. Each holds the data that the store had at that time.
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

    /// Formats a time as ISO 8601 without punctuation, in UTC: 20261121T120000Z.
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
