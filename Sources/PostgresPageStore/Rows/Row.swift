#if PostgreSQL
import PageModel

/// One row of a result, with the accessors that the tables of a store need. A NULL, or a value of another type, reads
/// as zero, false or nil. The seal of a row with such a wrong value does not match.
struct Row {
    let rows: Rows
    let index: Int

    func int64(_ column: Int) -> Int64 { rows.integer(index, column) ?? 0 }
    func int(_ column: Int) -> Int { Int(int64(column)) }
    func hash(_ column: Int) -> UInt64 { UInt64(bitPattern: int64(column)) }
    func bool(_ column: Int) -> Bool { rows.bool(index, column) ?? false }
    func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: int64(column)) }
    func optionalInt(_ column: Int) -> Int? { rows.integer(index, column).map { Int($0) } }
    func optionalTime(_ column: Int) -> Timestamp? {
        rows.integer(index, column).map { Timestamp(milliseconds: $0) }
    }
    /// The text of a column of type text.
    func word(_ column: Int) -> String? { rows.text(index, column) }
    /// The text of a column of type bytea.
    func text(_ column: Int) -> String? {
        rows.withBytes(index, column) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }
}

extension Rows {
    /// The first row; `nil` when there is none.
    var first: Row? { count > 0 ? Row(rows: self, index: 0) : nil }

    var all: some Sequence<Row> { (0..<count).lazy.map { Row(rows: self, index: $0) } }
}

extension Value {
    static func int(_ number: Int) -> Value { .integer(Int64(number)) }
    static func int(_ number: Int?) -> Value { number.map { .integer(Int64($0)) } ?? .null }
    static func hash(_ number: UInt64) -> Value { .integer(Int64(bitPattern: number)) }
    static func time(_ moment: Timestamp) -> Value { .integer(moment.milliseconds) }
    static func time(_ moment: Timestamp?) -> Value { moment.map { .integer($0.milliseconds) } ?? .null }
    /// A text as bytes, because the type text of PostgreSQL cannot hold a NUL character.
    static func string(_ text: String) -> Value { .bytes(Array(text.utf8)) }
    static func string(_ text: String?) -> Value { text.map { .bytes(Array($0.utf8)) } ?? .null }
}
#endif
