#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// The store as a thing in the file system: where it really is, who may read it, and whether it is one of ours.
/// Nothing here changes what is in a file.
enum StoreFile {
    /// "pgca", in the header of every store (https://www.sqlite.org/fileformat.html, offset 68).
    static let applicationID: UInt32 = 0x7067_6361

    enum Kind: Equatable {
        /// Empty: made a moment ago, or by a process that died before its first write.
        case blank
        case store
    }

    /// Finds the store at `path`; throws `notFound` when there is none.
    static func locate(_ path: String) throws(StorageError) -> String {
        let (directory, name) = split(path)
        guard let parent = realPath(directory) else {
            throw errno == EACCES
                ? StorageError(.permission, "\(path): permission denied")
                : StorageError(.notFound, "there is no store at \(path)")
        }
        return try checkLink(join(parent, name), asked: path)
    }

    /// The place for a store at `path`, whether or not there is one: makes missing directories with mode 0700 (R9), and
    /// follows a symbolic link of our own.
    static func place(_ path: String) throws(StorageError) -> String {
        let (directory, name) = split(path)
        try makeDirectories(directory, for: path)
        guard let parent = realPath(directory) else { throw failure(.cannotCreate, "cannot create \(path)") }
        let file = join(parent, name)
        return exists(file) ? try checkLink(file, asked: path) : file
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Makes an empty file with mode 0600 (R9), unless there is one. SQLite gives `-wal` and `-shm` the mode of the
    /// main file. The directory entry is on the disk when this returns.
    static func make(_ file: String) throws(StorageError) {
        try OpenStores.making { () throws(StorageError) in
            let descriptor = open(file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                if errno == EEXIST { return }
                throw failure(.cannotCreate, "cannot create \(file)")
            }
            close(descriptor)
            // A log that is there already belongs to a store that was removed, and may still be in use by a process
            // that has it open.
            for suffix in ["-wal", "-shm", "-journal"] { unlink(file + suffix) }
            syncDirectory(split(file).directory)
        }
    }

    static func isOrdinaryOrMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    /// Refuses what is no ordinary file under one of the names that belong to a store. Opening a FIFO would wait for
    /// ever.
    static func checkCompanions(of file: String) throws(StorageError) {
        for suffix in ["-wal", "-shm", "-journal", "-owners", "-notices"] {
            var status = stat()
            guard lstat(file + suffix, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
            throw StorageError(.notAStore, "\(file)\(suffix) is \(describe(status.st_mode)), not part of a store")
        }
    }

    /// Reads the header of the file and says what it is, without SQLite touching it.
    static func kind(of path: String) throws(StorageError) -> Kind {
        var status = stat()
        guard stat(path, &status) == 0 else { throw StorageError(.notFound, "there is no store at \(path)") }
        // Looked at before it is opened: opening a FIFO would wait for a writer.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.notAStore, "\(path) is \(describe(status.st_mode)), not a store")
        }
        // A log lies beside the name that a store was opened by: by its other name it would be read without it
        // (https://www.sqlite.org/howtocorrupt.html, 2.5).
        guard status.st_nlink <= 1 else {
            throw StorageError(.notAStore, "\(path) has another name too (a hard link); a store has one")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw failure(.inputOutput, "cannot read \(path)") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = read(descriptor, &header, header.count)
        guard count >= 0 else { throw failure(.inputOutput, "cannot read \(path)") }
        if count == 0 { return .blank }
        let stamp = header[68..<72].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard count == 100, header.starts(with: Array("SQLite format 3\0".utf8)), stamp == applicationID else {
            throw StorageError(.notAStore, "\(path) is not a pagecache store")
        }
        return .store
    }

    /// Removes a file that a repair made, and what SQLite keeps beside it.
    static func clear(_ path: String) throws(StorageError) {
        for suffix in ["", "-wal", "-shm", "-journal"] where unlink(path + suffix) != 0 && errno != ENOENT {
            throw failure(.inputOutput, "cannot remove \(path + suffix)")
        }
    }

    /// R9: an empty file that somebody made for us may be readable to others.
    static func makePrivate(_ path: String) { chmod(path, 0o600) }

    /// Whether everything that was ever committed is in the file itself.
    static func hasNoLog(_ path: String) -> Bool {
        var status = stat()
        return stat(path + "-wal", &status) != 0 || status.st_size == 0
    }

    /// Bytes that the file system of the store can still take. `Int.max` where it does not say.
    static func room(beside path: String) -> Int {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return .max }
        return Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// Whether SQLite, which makes its shared memory longer by one byte in each 4 KiB, leaves holes in it here.
    private static func hasSmallBlocks(_ path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && status.f_bsize < 4_096
    }

    /// Whether a process has the shared memory in use: each connection of SQLite holds its byte 128. Otherwise it is
    /// left over, and SQLite makes it anew.
    static func isInUse(sharedMemory descriptor: Int32) -> Bool {
        ByteLock(descriptor: descriptor).isHeldElsewhere(at: 128) == true
    }

    /// Has the file system set aside every byte of the shared memory, where its blocks are smaller than the pages by
    /// which SQLite makes the file longer. A write to a hole of a mapped file ends the process by `SIGBUS` when the
    /// disk is full.
    /// - Returns: a descriptor that must stay open for as long as this process has the store open: closing it drops
    ///   SQLite's locks. `nil` where there is nothing to do.
    /// - Throws: `full` when there is no room.
    static func fillSharedMemory(_ path: String) throws(StorageError) -> Int32? {
        let length = size(path + "-shm")
        guard length > 0, hasSmallBlocks(path) else { return nil }
        let descriptor = open(path + "-shm", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        #if os(Linux)
        let result = posix_fallocate(descriptor, 0, off_t(length))
        if result == ENOSPC || result == EDQUOT {
            // Closing drops the locks of a connection that is given up now.
            close(descriptor)
            throw StorageError(.full, "no room for \(path)-shm: \(String(cString: strerror(result)))")
        }
        #endif
        return descriptor
    }

    /// SQLite's VFS that keeps the index of the log in the memory of one process, and others away from the store.
    static let exclusiveFileSystem = "unix-excl"

    /// Whether the file system has room for the shared memory beside the store, which SQLite maps in parts of 32 KiB.
    /// SQLite cannot open a store without it, not even to delete something; on a file system with small blocks the
    /// process would end by `SIGBUS`.
    ///
    /// Call while nothing in this process has the store open, see `OpenStores`.
    static func hasRoomForSharedMemory(_ path: String) -> Bool {
        #if os(Linux)
        let bytes = 64 << 10
        guard room(beside: path) < 1 << 20 else { return true }
        let shared = open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if shared >= 0 {
            defer { close(shared) }
            // Another process has made it, and filled it.
            if isInUse(sharedMemory: shared) { return true }
        }
        guard !hasSmallBlocks(path) else { return false }
        // O_TMPFILE, a macro that Swift does not import: a file without a name.
        let descriptor = open(split(path).directory, O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000, 0o600)
        guard descriptor >= 0 else { return errno != ENOSPC && errno != EDQUOT }
        defer { close(descriptor) }
        let result = posix_fallocate(descriptor, 0, off_t(bytes))
        return result != ENOSPC && result != EDQUOT
        #else
        return true
        #endif
    }

    /// Whether the file is on a file system that is mounted for reading only.
    static func isOnReadOnlyFileSystem(_ path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && UInt(status.f_flag) & UInt(ST_RDONLY) != 0
    }

    /// Bytes of the file; 0 where there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// R9: a link that somebody else put there is not followed.
    private static func checkLink(_ file: String, asked path: String) throws(StorageError) -> String {
        var status = stat()
        guard lstat(file, &status) == 0 else {
            throw StorageError(
                errno == EACCES ? .permission : .notFound,
                errno == EACCES
                    ? "\(path): permission denied" : "there is no store at \(path)")
        }
        guard status.st_mode & S_IFMT == S_IFLNK else { return file }
        guard status.st_uid == geteuid() else {
            throw StorageError(.permission, "\(path) is a symbolic link that another user owns")
        }
        guard let target = realPath(file) else {
            throw StorageError(.notFound, "\(path) is a symbolic link to nothing")
        }
        return target
    }

    private static func makeDirectories(_ directory: String, for path: String) throws(StorageError) {
        var status = stat()
        if stat(directory, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw StorageError(.cannotCreate, "cannot create \(path): \(directory) is not a directory")
            }
            return
        }
        let (parent, _) = split(directory)
        if parent != directory { try makeDirectories(parent, for: path) }
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw failure(.cannotCreate, "cannot create \(path): \(directory)")
        }
        syncDirectory(parent)
    }

    /// Waits until the entries of a directory are on the disk. Without it a power loss could take a new store with all
    /// its commits. A file system that cannot do this loses nothing else.
    static func syncDirectory(_ directory: String) {
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// The error for what the last system call reported.
    static func failure(_ code: StorageError.Code, _ message: String) -> StorageError {
        let reason = errno
        let text = String(cString: strerror(reason))
        return switch reason {
        case EROFS: StorageError(.permission, "\(message): the file system is read-only")
        case EACCES where code != .cannotCreate: StorageError(.permission, "\(message): \(text)")
        case ENOSPC, EDQUOT: StorageError(.full, "\(message): \(text)")
        default: StorageError(code, "\(message): \(text)")
        }
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return (".", String(path)) }
        let directory = path[..<slash]
        return (directory.isEmpty ? "/" : String(directory), String(path[path.index(after: slash)...]))
    }

    private static func join(_ directory: String, _ name: String) -> String {
        directory == "/" ? "/\(name)" : name.isEmpty ? directory : "\(directory)/\(name)"
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func describe(_ mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFDIR: "a directory"
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        case S_IFBLK, S_IFCHR: "a device"
        default: "a special file"
        }
    }
}
