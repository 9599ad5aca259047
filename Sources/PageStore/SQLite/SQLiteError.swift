import CSQLite
import PageModel

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
        let text = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? String(cString: sqlite3_errstr(code))
        let cause = SQLiteError(code: code, message: text)
        return StorageError(meaning(of: code), "\(what) \(path): \(text)", cause: cause)
    }

    private static func meaning(of code: Int32) -> Code {
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_IOERR: .inputOutput
        case SQLITE_CORRUPT: .damaged
        case SQLITE_NOTADB: .notAStore
        case SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: .permission
        case SQLITE_CANTOPEN: .cannotCreate
        case SQLITE_INTERRUPT: .tookTooLong
        case SQLITE_TOOBIG: .tooLarge
        default: .internal
        }
    }
}
