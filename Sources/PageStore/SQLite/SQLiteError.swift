import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension StorageError {
    /// Whether a statement names an index that the file lacks.
    var isMissingIndex: Bool { (cause as? SQLiteError)?.message.hasPrefix("no such index: ") ?? false }
}

/// The error that SQLite reported, as the cause of a `StorageError`.
struct SQLiteError: Error, CustomStringConvertible {
    /// The extended result code (https://www.sqlite.org/rescode.html).
    let code: Int32
    let message: String

    var description: String { "SQLite \(code): \(message)" }
}

extension StorageError {
    /// Makes the error for a result code of SQLite, with the message of its connection.
    static func sqlite(_ code: Int32, doing what: String, path: String, handle: OpaquePointer?) -> StorageError {
        // Read first, because the next call may change it.
        let reason = errno
        let text =
            handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? String(cString: sqlite3_errstr(code))
        let cause = SQLiteError(code: code, message: text)
        if refusals.contains(code & 0xff), StoreFile.isOnReadOnlyFileSystem(path) {
            return StorageError(.permission, "\(what) \(path): the file system is read-only", cause: cause)
        }
        if let error = lockOrDescriptorError(code, reason, "\(what) \(path)", handle, cause) { return error }
        if refusals.contains(code & 0xff), let denied = StoreFile.deniedPath(of: path) {
            return StorageError(.permission, "\(what) \(path): no permission for \(denied)", cause: cause)
        }
        // SQLite has no code of its own for a header with an unknown schema format.
        if code & 0xff == SQLITE_ERROR, text == "unsupported file format" {
            return StorageError(.damaged, "\(what) \(path): \(text)", cause: cause)
        }
        let isFull = growing.contains(code) && limits.contains(reason)
        return StorageError(isFull ? .full : meaning(of: code), "\(what) \(path): \(text)", cause: cause)
    }

    /// Returns the error for a lock that failed, or for a lack of file descriptors. SQLite's own message names no
    /// remedy for these. Returns nil for any other code.
    ///
    /// SQLITE_PROTOCOL means that a hundred attempts to lock the log within ten seconds failed
    /// (https://www.sqlite.org/rescode.html#protocol). This happens, for example, when a process was stopped while it
    /// recovered the log. SQLite gives the same code on a file system that cannot lock, and keeps the reason in `errno`
    /// only.
    private static func lockOrDescriptorError(
        _ code: Int32, _ reason: Int32, _ what: String, _ handle: OpaquePointer?, _ cause: SQLiteError
    ) -> StorageError? {
        let reason = handle.map { sqlite3_system_errno($0) }.flatMap { $0 == 0 ? nil : $0 } ?? reason
        if code & 0xff == SQLITE_CANTOPEN, [EMFILE, ENFILE].contains(reason) {
            return StorageError(.inputOutput, "\(what): \(StoreFile.tooManyFiles)", cause: cause)
        }
        let isLockless = code & 0xff == SQLITE_PROTOCOL && [ENOLCK, EIO].contains(reason)
        if isLockless || locking.contains(code) {
            let text = String(cString: strerror(reason))
            return StorageError(.inputOutput, "\(what): the file system cannot lock the file: \(text)", cause: cause)
        }
        guard code & 0xff == SQLITE_PROTOCOL else { return nil }
        return StorageError(.busy, "\(what): another process holds a lock on the store", cause: cause)
    }

    /// The extended codes of failed locks: SQLITE_IOERR_UNLOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_CHECKRESERVEDLOCK,
    /// SQLITE_IOERR_LOCK and SQLITE_IOERR_SHMLOCK.
    private static let locking: Set<Int32> = Set([8, 9, 14, 15, 20].map { SQLITE_IOERR | $0 << 8 })

    /// Result codes for a file that SQLite may not write: the store, its log or its shared memory.
    private static let refusals: Set<Int32> = [SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM]

    /// A quota or a limit on file sizes has the same remedy as a full disk: purging. SQLite reports only `ENOSPC` as a
    /// full disk. It does not report the reason when a COMMIT fails (`sqlite3_system_errno` is 0 then).
    private static let limits: Set<Int32> = [EFBIG, EDQUOT]
    /// The extended codes of errors while a file grows: SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC and
    /// SQLITE_IOERR_SHMSIZE.
    private static let growing: Set<Int32> = Set([3, 4, 19].map { SQLITE_IOERR | $0 << 8 })

    private static func meaning(of code: Int32) -> Code {
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_IOERR: .inputOutput
        // The statements of this package violate no constraint of an intact store.
        case SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_MISMATCH: .damaged
        case SQLITE_NOTADB: .notAStore
        case SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: .permission
        case SQLITE_CANTOPEN: .cannotCreate
        case SQLITE_INTERRUPT: .tookTooLong
        case SQLITE_TOOBIG: .tooLarge
        default: .internal
        }
    }
}
