import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What SQLite itself said, as the cause of a `StorageError`.
struct SQLiteError: Error, CustomStringConvertible {
    /// Extended result code (https://www.sqlite.org/rescode.html).
    let code: Int32
    let message: String

    var description: String { "SQLite \(code): \(message)" }
}

extension StorageError {
    /// The error for a result code of SQLite, with the message of the connection it came from.
    static func sqlite(_ code: Int32, doing what: String, path: String, handle: OpaquePointer?) -> StorageError {
        // Before anything else is called that may set it.
        let reason = errno
        let text =
            handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? String(cString: sqlite3_errstr(code))
        let cause = SQLiteError(code: code, message: text)
        if refusals.contains(code & 0xff), StoreFile.isOnReadOnlyFileSystem(path) {
            return StorageError(.permission, "\(what) \(path): the file system is read-only", cause: cause)
        }
        // SQLite has no code for a header with a schema format that it does not know.
        if code & 0xff == SQLITE_ERROR, text == "unsupported file format" {
            return StorageError(.damaged, "\(what) \(path): \(text)", cause: cause)
        }
        let isFull = growing.contains(code) && limits.contains(reason)
        return StorageError(isFull ? .full : meaning(of: code), "\(what) \(path): \(text)", cause: cause)
    }

    /// Results by which SQLite reports a file that it may not write: the file itself, its log or its shared memory.
    private static let refusals: Set<Int32> = [SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM]

    /// A file that may not grow, by a limit of the process or of the user, is as good as a full disk: purging helps.
    /// SQLite calls only `ENOSPC` so, and keeps the reason of what fails in a COMMIT to itself (`sqlite3_system_errno`
    /// is 0 then).
    private static let limits: Set<Int32> = [EFBIG, EDQUOT]
    /// SQLITE_IOERR_WRITE, _FSYNC, and _SHMSIZE.
    private static let growing: Set<Int32> = Set([3, 4, 19].map { SQLITE_IOERR | $0 << 8 })

    private static func meaning(of code: Int32) -> Code {
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_IOERR: .inputOutput
        // Our own statements keep every constraint of a store that is whole.
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
