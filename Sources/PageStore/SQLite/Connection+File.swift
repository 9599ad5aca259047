import CSQLite

/// The database file behind a connection.
extension Connection {
    /// A number that changes with each commit of any connection, as of the open transaction
    /// (https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntldataversion). `nil` when SQLite does
    /// not provide the number.
    var dataVersion: UInt32? {
        var version: UInt32 = 0
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK ? version : nil
    }

    /// Reads eight bytes of the database file as a big-endian number, bypassing the log and SQLite's cache. Returns
    /// `nil` where the file ends earlier.
    func bytesOfFile(at position: Int64) -> UInt64? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var word: UInt64 = 0
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
            let methods = file.pointee.pMethods, methods.pointee.xRead(file, &word, 8, position) == SQLITE_OK
        else { return nil }
        return UInt64(bigEndian: word)
    }

    /// The size of the database file in bytes, without its log. `nil` when the size cannot be read.
    var sizeOfFile: Int64? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var size: sqlite3_int64 = 0
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
            let methods = file.pointee.pMethods, methods.pointee.xFileSize(file, &size) == SQLITE_OK
        else { return nil }
        return size
    }

    /// Whether the path of this database leads to a file other than the open one, or to no file.
    var hasMoved: Bool {
        var answer: Int32 = 0
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &answer) == SQLITE_OK && answer != 0
    }
}
