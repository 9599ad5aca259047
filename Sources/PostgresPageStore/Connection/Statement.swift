#if PostgreSQL
/// One SQL statement and its parameters `$1`, `$2`, …
package struct Statement: Hashable, Sendable {
    package var sql: String
    package var values: [Value]

    package init(_ sql: String, _ values: [Value] = []) {
        self.sql = sql
        self.values = values
    }
}

/// A parameter of a statement. All data is bound, and is never part of the SQL text (R46).
package enum Value: Hashable, Sendable {
    case null
    /// bool
    case bool(Bool)
    /// int8
    case integer(Int64)
    /// text. A NUL character is refused before anything is sent, because PostgreSQL cannot store it.
    case text(String)
    /// bytea
    case bytes([UInt8])
    /// int8[]
    case integers([Int64])
    /// text[]
    case texts([String])
    /// bytea[], whose elements may be NULL
    case byteRows([[UInt8]?])

    package static func optional(_ value: String?) -> Value { value.map { .text($0) } ?? .null }
    package static func optional(_ value: Int64?) -> Value { value.map { .integer($0) } ?? .null }
    package static func optional(_ value: [UInt8]?) -> Value { value.map { .bytes($0) } ?? .null }
}
#endif
