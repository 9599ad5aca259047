#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// A file that is open for copying. Its descriptor stays open as long as the value lives. Closing it earlier would drop
/// SQLite's locks: POSIX drops all locks of a process on a file when the process closes any descriptor of it.
struct FileCopy: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws(StorageError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        self.path = path
        guard descriptor >= 0 else { throw FileCopy.error("open", path) }
    }

    deinit { close(descriptor) }

    /// Writes the bytes to a new file of mode 0600, and waits until they are on the disk.
    func write(to target: String) throws(StorageError) {
        let output = open(target, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw FileCopy.error("create", target) }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var position: off_t = 0
        while true {
            let count = pread(descriptor, &buffer, buffer.count, position)
            guard count >= 0 else { throw FileCopy.error("read", path) }
            guard count > 0 else { break }
            var written = 0
            while written < count {
                let step = buffer[written..<count].withUnsafeBytes {
                    pwrite(output, $0.baseAddress, $0.count, position + off_t(written))
                }
                guard step > 0 else { throw FileCopy.error("write", target) }
                written += step
            }
            position += off_t(count)
        }
        guard fsync(output) == 0 else { throw FileCopy.error("write", target) }
    }

    /// Waits until a file is on the disk. This process must not have the file open.
    static func sync(_ path: String) throws(StorageError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw error("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw error("write", path) }
    }

    private static func error(_ what: String, _ path: String) -> StorageError {
        StorageError(
            errno == ENOSPC || errno == EDQUOT ? .full : .inputOutput,
            "cannot \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
