#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// The store as a file: its real path, its access rights, and whether it is a store of this package. No function here
/// changes the bytes of an existing store file.
enum StoreFile {
    /// "pgca", in the header of every store (https://www.sqlite.org/fileformat.html, offset 68).
    static let applicationID: UInt32 = 0x7067_6361

    enum Kind: Equatable {
        /// An empty file, left by a process that has not written it yet, or that ended before its first write.
        case blank
        case store
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Creates an empty file with mode 0600, unless there is a file (R9). SQLite gives `-wal` and `-shm` the mode of
    /// the main file. The directory entry is on the disk when this function returns. If the function throws, it leaves
    /// no new file.
    static func make(_ file: String) throws(StorageError) {
        try OpenStores.making(file) { () throws(StorageError) in
            let descriptor = open(file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                if errno == EEXIST { return false }
                throw failure(.cannotCreate, "cannot create \(file)")
            }
            close(descriptor)
            // An existing log belongs to a store that was removed. A process that has that store open may still use the
            // log.
            for suffix in ["-wal", "-shm", "-journal"] { unlink(file + suffix) }
            do throws(StorageError) {
                try syncDirectory(of: file)
            } catch {
                // The next call creates the file again, and waits for the disk again.
                unlink(file)
                throw error
            }
            return true
        }
    }

    static func isOrdinaryOrMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    /// Throws `strayFile` when a path that belongs to the store is not a regular file, because opening a FIFO would
    /// block forever. Throws it also for a file of another user beside a store that only its owner may use: that user
    /// could read the contents of the file (R9).
    static func checkCompanions(of file: String) throws(StorageError) {
        var store = stat()
        let isMissing = stat(file, &store) != 0
        let owners = isMissing ? [geteuid(), 0] : [store.st_uid, geteuid(), 0]
        for suffix in ["-wal", "-shm", "-journal", "-owners", "-notices"] {
            var status = stat()
            guard lstat(file + suffix, &status) == 0 else { continue }
            if status.st_mode & S_IFMT != S_IFREG {
                throw StorageError(
                    .strayFile, "\(file)\(suffix) is \(describe(status.st_mode)) and not a regular file: remove it")
            }
            if isMissing || store.st_mode & 0o077 == 0, !owners.contains(status.st_uid) {
                throw StorageError(.strayFile, "\(file)\(suffix) belongs to another user: remove it")
            }
        }
    }

    /// Returns the kind of the file by its header, before SQLite opens it for use. Throws `damaged` for a store whose
    /// header was overwritten. The mark of this package, the files next to the store, or its schema then show that the
    /// file was a store.
    ///
    /// Call while this process does not have the file open, see `OpenStores`.
    static func kind(of path: String) throws(StorageError) -> Kind {
        var status = stat()
        guard stat(path, &status) == 0 else { throw StorageError(.notFound, "there is no store at \(path)") }
        // Checked before the file is opened, because opening a FIFO would wait for a writer.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.notAStore, "\(path) is \(describe(status.st_mode)), not a store")
        }
        // A log belongs to the name by which the store was opened. Under its other name, the store would be read
        // without the log (https://www.sqlite.org/howtocorrupt.html, 2.5).
        try checkName(of: path)
        guard !isMountPoint(path) else {
            throw StorageError(.notAStore, "\(path) is mounted as a single file; mount the directory of the store")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw failure(.inputOutput, "cannot read \(path)") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = read(descriptor, &header, header.count)
        guard count >= 0 else { throw failure(.inputOutput, "cannot read \(path)") }
        if count == 0 { return .blank }
        let stamp = header[68..<72].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let isDatabase = count == 100 && header.starts(with: Array("SQLite format 3\0".utf8))
        if isDatabase, stamp == applicationID { return .store }
        if isDatabase, StoreHeader.provenVersion(of: path) != nil {
            throw StorageError(.damaged, StoreHeader.wrongMark(path))
        }
        // A database of another program has a whole header of its own.
        guard !isDatabase, count == 100 && stamp == applicationID || hasCompanions(path) else {
            throw StorageError(.notAStore, "\(path) is not a pagecache store")
        }
        throw StorageError(.damaged, "\(path) is a store whose header was overwritten")
    }

    /// Throws `notAStore` for a file with a second hard link, unless a killed repair has left it: see
    /// `secondNames(of:)`. Opening the file by that second name throws, because the store's own name is not a name that
    /// a repair gave.
    static func checkName(of path: String) throws(StorageError) {
        guard linkCount(path) > secondNames(of: path).count + 1 else { return }
        throw StorageError(.notAStore, "\(path) has a second name (a hard link), and a store must have only one")
    }

    /// Returns the names that repairs gave to the store's file to set it aside, and that still lead to it. A repair
    /// that was killed leaves one: see `Salvage`.
    /// - Parameter suffix: the suffix of a file next to the store, whose second names are returned instead. A call of
    ///   `setAside` that was killed leaves one: see `Quarantine`. Defaults to the store itself.
    static func secondNames(of path: String, _ suffix: String = "") -> [String] {
        guard linkCount(path + suffix) > 1, let identity = FileIdentity(path + suffix) else { return [] }
        return Quarantine.setAside(of: path).filter { FileIdentity($0) == identity }
    }

    /// Returns whether the file with this suffix next to the store still belongs to a store that was set aside. That is
    /// so after the process that set the store aside was killed.
    static func isOfStoreSetAside(_ path: String, _ suffix: String) -> Bool {
        secondNames(of: path, suffix).contains { exists(String($0.dropLast(suffix.count))) }
    }

    /// The number of names of a regular file. 0 for everything else.
    private static func linkCount(_ path: String) -> Int {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0 }
        return Int(status.st_nlink)
    }

    /// Returns whether both files that every opened store leaves next to it are there.
    private static func hasCompanions(_ path: String) -> Bool {
        ["-owners", "-notices"].allSatisfy { suffix in
            var status = stat()
            return lstat(path + suffix, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
    }

    /// Removes a file that a repair has created, and the files that SQLite keeps next to it.
    static func clear(_ path: String) throws(StorageError) {
        for suffix in ["", "-wal", "-shm", "-journal"] where unlink(path + suffix) != 0 && errno != ENOENT {
            throw failure(.inputOutput, "cannot remove \(path + suffix)")
        }
    }

    /// Sets the mode to 0600. An empty file created by another program may be readable to others (R9).
    static func makePrivate(_ path: String) { chmod(path, 0o600) }

    /// Returns whether all committed data is in the file itself.
    static func hasNoLog(_ path: String) -> Bool {
        var status = stat()
        return stat(path + "-wal", &status) != 0 || status.st_size == 0
    }

    /// The free bytes of the store's file system. `Int.max` where the system call fails.
    static func room(beside path: String) -> Int {
        var status = statvfs()
        // Some network file systems do not state their size.
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return .max }
        return Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// Returns whether SQLite leaves holes in the shared memory on this file system. SQLite extends the shared memory
    /// by writing one byte in each 4 KiB.
    private static func hasSmallBlocks(_ path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && status.f_bsize < 4_096
    }

    /// Returns whether a process uses the shared memory: each connection of SQLite holds a lock on byte 128. Unused
    /// shared memory is left over from earlier processes, and SQLite creates it again.
    static func isInUse(sharedMemory descriptor: Int32) -> Bool {
        ByteLock(descriptor: descriptor).isHeldElsewhere(at: 128) == true
    }

    /// Reserves disk space for every byte of the shared memory.
    ///
    /// That is needed where the blocks of the file system are smaller than the 4 KiB steps in which SQLite extends the
    /// file. On a full disk, a write to a hole of a mapped file ends the process by `SIGBUS`.
    /// - Returns: a descriptor that must stay open while this process has the store open, because closing it drops
    ///   SQLite's locks. `nil` where no space needs to be reserved.
    /// - Throws: `full` when the disk has no room.
    static func fillSharedMemory(_ path: String) throws(StorageError) -> Int32? {
        let length = size(path + "-shm")
        guard length > 0, hasSmallBlocks(path) else { return nil }
        let descriptor = open(path + "-shm", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        #if os(Linux)
        let result = posix_fallocate(descriptor, 0, off_t(length))
        if result == ENOSPC || result == EDQUOT {
            // Closing drops the locks of a connection that the caller gives up now.
            close(descriptor)
            throw StorageError(.full, "no room for \(path)-shm: \(String(cString: strerror(result)))")
        }
        #endif
        return descriptor
    }

    /// SQLite's VFS that keeps the index of the log in the memory of one process, and excludes other processes from the
    /// store.
    static let exclusiveFileSystem = "unix-excl"

    /// Returns whether the file system has room for the shared memory next to the store. SQLite maps it in parts of 32
    /// KiB.
    ///
    /// SQLite cannot open a store without the shared memory, not even to delete rows. On a file system with small
    /// blocks the process would end by `SIGBUS`. Call while this process does not have the store open, see
    /// `OpenStores`.
    static func hasRoomForSharedMemory(_ path: String) -> Bool {
        #if os(Linux)
        let bytes = 64 << 10
        guard room(beside: path) < 1 << 20 else { return true }
        let shared = open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if shared >= 0 {
            defer { close(shared) }
            // Another process has created the shared memory and filled it.
            if isInUse(sharedMemory: shared) { return true }
        }
        guard !hasSmallBlocks(path) else { return false }
        // O_TMPFILE creates a file without a name. It is a macro that Swift does not import.
        let descriptor = open(split(path).directory, O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000, 0o600)
        guard descriptor >= 0 else { return errno != ENOSPC && errno != EDQUOT }
        defer { close(descriptor) }
        let result = posix_fallocate(descriptor, 0, off_t(bytes))
        return result != ENOSPC && result != EDQUOT
        #else
        return true
        #endif
    }

    /// Returns whether the file is on a file system that is mounted read-only.
    static func isOnReadOnlyFileSystem(_ path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && UInt(status.f_flag) & UInt(ST_RDONLY) != 0
    }

    /// The size of the file in bytes. 0 where there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Makes the error for the last failed system call.
    static func failure(_ code: StorageError.Code, _ message: String) -> StorageError {
        let reason = errno
        let text = String(cString: strerror(reason))
        return switch reason {
        case EROFS: StorageError(.permission, "\(message): the file system is read-only")
        case EACCES where code != .cannotCreate: StorageError(.permission, "\(message): \(text)")
        case ENOSPC, EDQUOT: StorageError(.full, "\(message): \(text)")
        case EMFILE, ENFILE: StorageError(.inputOutput, "\(message): \(tooManyFiles)")
        default: StorageError(code, "\(message): \(text)")
        }
    }

    /// The reason for `EMFILE` and `ENFILE`, with its remedy.
    static let tooManyFiles = "too many open files; raise the limit with 'ulimit -n'"

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
