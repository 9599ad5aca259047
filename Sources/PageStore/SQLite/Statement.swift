import CSQLite
import PageModel

/// A value to bind to a statement. All data is bound, and is never part of the SQL text (R46).
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
    /// Makes a value of a hash. SQLite's integers are signed; the bits stay the same.
    static func hash(_ value: UInt64) -> SQLValue { .int(Int64(bitPattern: value)) }
}

/// A prepared statement. Only the thread that uses its connection may use it.
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
        var position: Int32 = 1
        for value in values {
            switch value {
            case .null: try bindNull(position)
            case .int(let number): try bind(position, number)
            case .text(let text): try bind(position, text)
            case .blob(let bytes): try bind(position, bytes)
            }
            position += 1
        }
    }

    func bindNull(_ position: Int32) throws(StorageError) {
        try check(sqlite3_bind_null(statement, position))
    }

    func bind(_ position: Int32, _ number: Int64) throws(StorageError) {
        try check(sqlite3_bind_int64(statement, position, number))
    }

    func bind(_ position: Int32, _ number: Int) throws(StorageError) {
        try check(sqlite3_bind_int64(statement, position, Int64(number)))
    }

    func bind(_ position: Int32, _ hash: UInt64) throws(StorageError) {
        try check(sqlite3_bind_int64(statement, position, Int64(bitPattern: hash)))
    }

    func bind(_ position: Int32, _ time: Timestamp) throws(StorageError) {
        try check(sqlite3_bind_int64(statement, position, time.milliseconds))
    }

    func bind(_ position: Int32, _ text: String?) throws(StorageError) {
        guard var text else { return try bindNull(position) }
        // The length is passed, so a NUL byte inside the text is ordinary data. A null pointer would bind NULL, so an
        // empty text is bound separately.
        let code =
            text.isEmpty
            ? sqlite3_bind_text(statement, position, "", 0, pagecache_transient())
            : text.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text64(
                        statement, position, $0.baseAddress, UInt64($0.count), pagecache_transient(), UInt8(SQLITE_UTF8)
                    )
                }
            }
        try check(code)
    }

    func bind(_ position: Int32, _ bytes: [UInt8]) throws(StorageError) {
        try check(bytes.withUnsafeBytes { bind(position, $0, pagecache_transient()) })
    }

    /// Binds bytes without copying them. They must stay valid until the statement has been stepped and reset.
    func bindInPlace(_ position: Int32, _ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try check(bind(position, bytes, pagecache_static()))
    }

    private func bind(
        _ position: Int32, _ bytes: UnsafeRawBufferPointer, _ lifetime: sqlite3_destructor_type?
    ) -> Int32 {
        // A null pointer would bind NULL, so an empty blob is bound separately.
        bytes.isEmpty
            ? sqlite3_bind_zeroblob(statement, position, 0)
            : sqlite3_bind_blob64(statement, position, bytes.baseAddress, UInt64(bytes.count), lifetime)
    }

    private func check(_ code: Int32) throws(StorageError) {
        guard code == SQLITE_OK else {
            throw .sqlite(code, doing: "binding a value for", path: path, handle: connection)
        }
    }

    /// Returns true when there is a row.
    func step() throws(StorageError) -> Bool {
        let code = sqlite3_step(statement)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw .sqlite(code, doing: "reading or writing", path: path, handle: connection)
        }
    }

    /// Resets the statement. Bindings remain, but every use binds every parameter again.
    func reset() {
        sqlite3_reset(statement)
    }

    /// Mixes the stored values of the given columns into a seal.
    fileprivate func mix(_ columns: Range<Int32>, into seal: inout RowChecksum) {
        for column in columns {
            switch sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: seal.mix(sqlite3_column_int64(statement, column))
            case SQLITE_TEXT: withText(column) { seal.mix($0) }
            case SQLITE_BLOB: withBlob(column) { seal.mix($0) }
            default: seal.mixNull()
            }
        }
    }

    /// Returns all stored values of the row.
    fileprivate func values() -> [SQLValue] {
        (0..<sqlite3_column_count(statement)).map { column in
            switch sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: .int(sqlite3_column_int64(statement, column))
            case SQLITE_TEXT: .text(text(column))
            case SQLITE_BLOB: .blob(blob(column))
            default: .null
            }
        }
    }

    fileprivate func isBlob(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_BLOB }
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

    fileprivate func withText<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let start = sqlite3_column_text(statement, column)
        return body(
            UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
        )
    }

    fileprivate func withBlob<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard let start = sqlite3_column_blob(statement, column) else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
}

/// The current row of a statement. Valid only inside the closure that receives it.
struct Row: ~Copyable {
    private let statement: Statement

    init(statement: Statement) {
        self.statement = statement
    }

    /// Mixes the stored values of the first `count` columns into a seal, without converting them.
    func mix(_ count: Int, into seal: inout RowChecksum) { statement.mix(0..<Int32(count), into: &seal) }

    func values() -> [SQLValue] { statement.values() }
    func int64(_ column: Int) -> Int64 { statement.int(Int32(column)) }
    func int(_ column: Int) -> Int { Int(statement.int(Int32(column))) }
    func bool(_ column: Int) -> Bool { statement.int(Int32(column)) != 0 }
    func hash(_ column: Int) -> UInt64 { UInt64(bitPattern: statement.int(Int32(column))) }
    func isBlob(_ column: Int) -> Bool { statement.isBlob(Int32(column)) }
    func text(_ column: Int) -> String { statement.text(Int32(column)) }
    func blob(_ column: Int) -> [UInt8] { statement.blob(Int32(column)) }
    func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: statement.int(Int32(column))) }

    /// Returns whether a column holds exactly this text, without creating a `String`.
    func isText(_ column: Int, _ text: StaticString) -> Bool {
        statement.withText(Int32(column)) {
            $0.elementsEqual(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }

    func optionalInt(_ column: Int) -> Int? { statement.isNull(Int32(column)) ? nil : int(column) }
    func optionalText(_ column: Int) -> String? { statement.isNull(Int32(column)) ? nil : text(column) }
    func optionalTime(_ column: Int) -> Timestamp? { statement.isNull(Int32(column)) ? nil : time(column) }

    /// Calls `body` with the bytes of a blob, without copying them. They are valid only during the call.
    func withBlob<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        statement.withBlob(Int32(column), body)
    }
}
