#if Tool
import PageModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that appears complete or not at all. It is written under a temporary name next to its final path, synced, and
/// renamed to that path.
///
/// State: the descriptor, and the name of the temporary file. Both end with `commit`, or with the value. A path that is
/// not a regular file (a device, a pipe) is written directly, because it must not be replaced.
struct AtomicFile: ~Copyable {
    /// The final path. If the given path is a symbolic link to an existing file, the path of that file.
    let path: String
    private let descriptor: Int32
    /// The name of the temporary file. `nil` means the path itself is written.
    private var temporary: String?

    /// - Throws: `ToolFailure` with status 73 when the file cannot be created, 74 when the disk is full, or 77 without
    ///   permission.
    init(_ path: String) throws(ToolFailure) {
        (self.path, temporary, descriptor) = try AtomicFile.begin(path)
    }

    private static func begin(_ path: String) throws(ToolFailure) -> (
        path: String, temporary: String?, descriptor: Int32
    ) {
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists, status.st_mode & S_IFMT == S_IFDIR {
            throw ToolFailure(
                .cannotCreate, "cannot_create", "\(path) is a directory", hint: "name a file in that directory")
        }
        if exists, status.st_mode & S_IFMT != S_IFREG {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw failure("cannot write \(path)", isNew: true) }
            return (path, nil, descriptor)
        }
        let place = exists ? resolved(path) : path
        let name = "\(place).\(getpid())-\(UInt32.random(in: 0...UInt32.max)).partial"
        // A new file has the usual mode. A replaced file keeps its mode.
        let descriptor = open(
            name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, exists ? status.st_mode & 0o777 : 0o666)
        guard descriptor >= 0 else { throw failure("cannot create \(path)", isNew: true) }
        unfinished.withLock { _ = $0.insert(name) }
        return (place, name, descriptor)
    }

    deinit {
        close(descriptor)
        if let temporary {
            unlink(temporary)
            AtomicFile.unfinished.withLock { _ = $0.remove(temporary) }
        }
    }

    /// Names of temporary files that are not renamed yet.
    private static let unfinished = Mutex<Set<String>>([])

    /// Removes the temporary files of a process that exits at once and runs no `deinit`. Skips the files while another
    /// thread holds the lock, because the exit must not wait.
    static func removeUnfinished() {
        _ = unfinished.withLockIfAvailable { names in for name in names { unlink(name) } }
    }

    /// - Throws: `ToolFailure` with status 74 when the write fails, also because of a full disk or a file size limit.
    ///   77 without permission.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ToolFailure) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = systemWrite(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                written += count
            } else if errno != EINTR {
                throw AtomicFile.failure("cannot write \(path)")
            }
        }
    }

    /// Syncs the file, and renames it to its final path.
    /// - Throws: `ToolFailure` with the status that `write` has for the same error.
    consuming func commit() throws(ToolFailure) {
        guard let name = temporary else { return }
        // The bytes are synced before the rename. After a power loss, either the old file or the complete new one is
        // present.
        guard fsync(descriptor) == 0, rename(name, path) == 0 else { throw AtomicFile.failure("cannot write \(path)") }
        temporary = nil
        AtomicFile.unfinished.withLock { _ = $0.remove(name) }
        let slash = path.lastIndex(of: "/")
        let directory = open(
            slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".", O_RDONLY | O_CLOEXEC)
        // Some file systems cannot sync directories. The file is in place anyway.
        if directory >= 0 {
            _ = fsync(directory)
            close(directory)
        }
    }

    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    private static func failure(_ what: String, isNew: Bool = false) -> ToolFailure {
        let number = errno
        let message = "\(what): \(String(cString: strerror(number)).lowercased())"
        return switch number {
        case EACCES, EPERM, EROFS: ToolFailure(.permission, "permission", message)
        case ENOSPC, EDQUOT, EFBIG:
            ToolFailure(.inputOutput, "disk_full", message, hint: "free some space, or name another place")
        default:
            isNew
                ? ToolFailure(.cannotCreate, "cannot_create", message) : ToolFailure(.inputOutput, "io_error", message)
        }
    }
}

private let systemWrite = write as @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int
#endif
