#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// The entries of directories on the disk.
extension StoreFile {
    /// Waits until the descriptor of a directory is on the disk, as `fsync` does. Tests replace it.
    @TaskLocal static var syncEntries: @Sendable (Int32) -> Int32 = { fsync($0) }

    /// Waits until the entries of a file's directory are on the disk. Without that, a power loss could remove a new
    /// store with all its commits, or undo a rename.
    /// - Throws: `StorageError` when the disk reports a failure. The function does not throw on a file system without
    ///   this operation, or for a directory that this user may write but not read. No program can wait there.
    static func syncDirectory(of file: String) throws(StorageError) {
        let directory = split(file).directory
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else {
            if errno == EACCES { return }
            throw failure(.inputOutput, "cannot open the directory \(directory)")
        }
        defer { close(descriptor) }
        guard syncEntries(descriptor) != 0, ![EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) else { return }
        throw failure(.inputOutput, "cannot sync the directory \(directory)")
    }
}
