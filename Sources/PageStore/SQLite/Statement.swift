import CSQLite
import PageModel

/// A value bound to a statement. Data reaches SQL in no other way (R46).
enum SQLValue {
    case null
    case int(Int64)
    case text(String)
    case blob([UInt8])

    static func int(_ value: Int) -> SQLValue { .int(Int64(value)) }
    static func bool(_ value: Bool) -> SQLValue { .int(Int64(value ? 1 : 0)) }
    static func time(_ value: Timestamp) -> SQLValue { .int(value.milliseconds) }
    static func time(_ value: Timestamp?) -> SQLValue { value.map { .int($0.milliseconds) } ?? .null }
    static func optional(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
    static func optional(_ value: Int?) -> SQLValue { value.map { .int(Int64($0)) } ?? .null }
    /// A hash: SQLite's integers are signed, the bits are the same.
    static func hash(_ value: UInt64) -> SQLValue { .int(Int64(bitPattern: value)) }
}

/// A prepared statement. Belongs to the queue of its connection.
final class Statement {
    private let statement: OpaquePointer
    private let connection: OpaquePointer
    private let path: String

    init(_ statement: OpaquePointer, connection: OpaquePointer, path: String) {
        self.statement = statement
        self.connection = connection
        self.path = path
    }

    deinit {
        sqlite3_finalize(statement)
    }

    func bind(_ values: [SQLValue]) throws(StorageError) {
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            let code: Int32
            switch value {
            case .null:
                code = sqlite3_bind_null(statement, position)
            case .int(let number):
                code = sqlite3_bind_int64(statement, position, number)
            case .text(var text):
                // With the length given, a NUL inside is data like any other.
                // A null pointer would bind NULL; an empty text is a value.
                code =
                    text.isEmpty
                    ? sqlite3_bind_text(statement, position, "", 0, pagecache_transient())
                    : text.withUTF8 { utf8 in
                        utf8.withMemoryRebound(to: CChar.self) {
                            sqlite3_bind_text64(
                                statement, position, $0.baseAddress, UInt64($0.count), pagecache_transient(),
                                UInt8(SQLITE_UTF8))
                        }
                    }
            case .blob(let bytes):
                code = bytes.withUnsafeBytes {
                    // A null pointer would bind NULL; an empty blob is a value.
                    $0.isEmpty
                        ? sqlite3_bind_zeroblob(statement, position, 0)
                        : sqlite3_bind_blob64(
                            statement, position, $0.baseAddress, UInt64($0.count), pagecache_transient())
                }
            }
            guard code == SQLITE_OK else {
                throw .sqlite(code, doing: "binding a value", path: path, handle: connection)
            }
        }
    }

    /// True when there is a row.
    func step() throws(StorageError) -> Bool {
        let code = sqlite3_step(statement)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw .sqlite(code, doing: "reading or writing", path: path, handle: connection)
        }
    }

    func reset() {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
    }

    fileprivate func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
    fileprivate func int(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    fileprivate func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(statement, column) else { return "" }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }

    fileprivate func withBlob<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard let start = sqlite3_column_blob(statement, column) else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
}

/// The row a statement stands on; valid only inside the closure that receives it.
struct Row: ~Copyable {
    private let statement: Statement

    init(statement: Statement) {
        self.statement = statement
    }

    func int64(_ column: Int) -> Int64 { statement.int(Int32(column)) }
    func int(_ column: Int) -> Int { Int(statement.int(Int32(column))) }
    func bool(_ column: Int) -> Bool { statement.int(Int32(column)) != 0 }
    func hash(_ column: Int) -> UInt64 { UInt64(bitPattern: statement.int(Int32(column))) }
    func text(_ column: Int) -> String { statement.text(Int32(column)) }
    func blob(_ column: Int) -> [UInt8] { statement.blob(Int32(column)) }
    func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: statement.int(Int32(column))) }

    func optionalInt(_ column: Int) -> Int? { statement.isNull(Int32(column)) ? nil : int(column) }
    func optionalText(_ column: Int) -> String? { statement.isNull(Int32(column)) ? nil : text(column) }
    func optionalTime(_ column: Int) -> Timestamp? { statement.isNull(Int32(column)) ? nil : time(column) }

    /// The bytes of a blob without a copy, for the time of the call.
    func withBlob<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        statement.withBlob(Int32(column), body)
    }
}
