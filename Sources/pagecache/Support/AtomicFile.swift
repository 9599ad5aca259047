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

/// A file that is there in whole or not at all: written beside its place, synced, and renamed into it.
///
/// State: the descriptor, and the name of what is not in its place yet; both end with `commit`, or with the value. What
/// is no ordinary file (a device, a pipe) is written to as it is, because it must not be replaced.
struct AtomicFile: ~Copyable {
    /// Where it will be: the target of a link, where the path is one.
    let path: String
    private let descriptor: Int32
    /// Nil: the place itself is written to.
    private var temporary: String?

    /// - Throws: `ToolFailure` with 73 where nothing can be made, 77 where it is not allowed.
    init(_ path: String) throws(ToolFailure) {
        (self.path, temporary, descriptor) = try AtomicFile.begin(path)
    }

    private static func begin(_ path: String) throws(ToolFailure) -> (
        path: String, temporary: String?, descriptor: Int32
    ) {
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists, status.st_mode & S_IFMT == S_IFDIR {
            throw ToolFailure(.cannotCreate, "cannot_create", "\(path) is a directory", hint: "name a file in it")
        }
        if exists, status.st_mode & S_IFMT != S_IFREG {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw failure("cannot write \(path)", isNew: true) }
            return (path, nil, descriptor)
        }
        let place = exists ? resolved(path) : path
        let name = "\(place).\(getpid())-\(UInt32.random(in: 0...UInt32.max)).partial"
        // As any other file that somebody makes; one that is replaced keeps its mode.
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

    /// Names of files that are not in their place yet.
    private static let unfinished = Mutex<Set<String>>([])

    /// For a process that leaves at once, and has no time to let its values go. A name that is just being taken or
    /// given back is not waited for.
    static func removeUnfinished() {
        _ = unfinished.withLockIfAvailable { names in for name in names { unlink(name) } }
    }

    /// - Throws: `ToolFailure` with 74, also where the disk or a limit on the file's size is full.
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

    /// Forgets what was written so far.
    /// - Returns: false where it has gone to a device or a pipe already.
    func rewind() -> Bool {
        temporary != nil && ftruncate(descriptor, 0) == 0 && lseek(descriptor, 0, SEEK_SET) == 0
    }

    /// Puts the file in its place.
    consuming func commit() throws(ToolFailure) {
        guard let name = temporary else { return }
        // First the bytes, then the name: after a power loss there is the old file or the whole new one.
        guard fsync(descriptor) == 0, rename(name, path) == 0 else { throw AtomicFile.failure("cannot write \(path)") }
        temporary = nil
        AtomicFile.unfinished.withLock { _ = $0.remove(name) }
        let slash = path.lastIndex(of: "/")
        let directory = open(
            slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".", O_RDONLY | O_CLOEXEC)
        // Not every file system syncs directories; the file is there in any case.
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
