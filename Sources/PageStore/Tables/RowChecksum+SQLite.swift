import CSQLite
import PageModel

extension RowChecksum {
    /// Defines the SQL function `page_seal`, for statements that rewrite many rows. Its arguments are the columns of
    /// `page` without the seal, in order.
    static func define(in connection: Connection) throws(StorageError) {
        try connection.define("page_seal", arguments: 20) { context, count, values in
            guard let values else { return sqlite3_result_null(context) }
            var seal = RowChecksum(RowChecksum.page)
            for index in 0..<Int(count) {
                seal.mix(values[index])
            }
            sqlite3_result_int64(context, Int64(bitPattern: seal.value))
        }
    }

    private mutating func mix(_ value: OpaquePointer?) {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER:
            mix(sqlite3_value_int64(value))
        case SQLITE_TEXT:
            let start = sqlite3_value_text(value)
            mix(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
        case SQLITE_BLOB:
            let start = sqlite3_value_blob(value)
            mix(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
        default:
            mixNull()
        }
    }
}
