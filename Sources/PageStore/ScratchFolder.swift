#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// A folder that is removed with this object, or by a later process if this process was killed.
///
/// A locked file in the folder shows that its process is alive. The lock ends with the process.
final class ScratchFolder: Sendable {
    /// The path of the folder, which has mode 0700.
    let path: String
    private let lock: Int32

    private static let prefix = "pagecache-memory-"
    private static let lockName = "owner.lock"

    init() throws(StorageError) {
        let base = ScratchFolder.base
        ScratchFolder.removeAbandoned(in: base)
        let template = "\(base)/\(ScratchFolder.prefix)" + String(repeating: "X", count: 6)
        var bytes = Array(template.utf8CString)
        guard bytes.withUnsafeMutableBufferPointer({ mkdtemp($0.baseAddress!) != nil }) else {
            throw StorageError(.cannotCreate, "cannot create a folder in \(base)")
        }
        path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The file gets its name once it is locked, so that every named file is locked or abandoned.
        let unnamed = "\(path)/\(ScratchFolder.lockName).new"
        lock = open(unnamed, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0,
            rename(unnamed, "\(path)/\(ScratchFolder.lockName)") == 0
        else {
            throw StorageError(.cannotCreate, "cannot create a file in \(path)")
        }
    }

    deinit {
        ScratchFolder.remove(path)
        if lock >= 0 { close(lock) }
    }

    /// The directory of such folders: in memory if possible.
    private static var base: String {
        if access("/dev/shm", R_OK | W_OK | X_OK) == 0 { return "/dev/shm" }
        let named = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        return named.count > 1 && named.hasSuffix("/") ? String(named.dropLast()) : named
    }

    /// Removes the folders of processes that have ended. A folder without a lock file stays, because its process may be
    /// about to create the file.
    private static func removeAbandoned(in base: String) {
        for name in names(in: base) where name.hasPrefix(prefix) {
            let folder = "\(base)/\(name)"
            let lock = open("\(folder)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(folder) }
            close(lock)
        }
    }

    private static func remove(_ folder: String) {
        for name in names(in: folder) { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
