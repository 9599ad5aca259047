#if PostgreSQL
/// A statement for one row. A ``WriteBatch`` may combine several such rows into one statement.
///
/// Different row statements of one transaction must not depend on each other, because a batch can change the order of
/// their rows.
struct RowStatement: Hashable, Sendable {
    /// The statement for one row. Its parameters are the shared values, and then the values of the row.
    let one: SQL
    /// The statement for several rows. Its parameters are the shared values, and then the columns of the rows: see
    /// ``Value/columns(of:)``. `nil` means that each row is sent in its own statement.
    var several: SQL?
}

/// The rows of one statement.
struct RowGroup {
    /// The most rows and bytes of a group. Larger arrays may exceed the server's memory for one operation (`work_mem`),
    /// and would go through a file.
    static let most = (rows: 16, bytes: 1 << 20)

    private let statement: RowStatement
    private let shared: [Value]
    private var rows: [[Value]]
    private var bytes: Int

    init(_ statement: RowStatement, _ shared: [Value], _ row: [Value]) {
        self.statement = statement
        self.shared = shared
        rows = [row]
        bytes = RowGroup.bytes(of: row)
    }

    /// Adds a row, unless the group is full or the row needs other shared values.
    /// - Returns: `false` when the row needs another group.
    mutating func take(_ row: [Value], _ shared: [Value]) -> Bool {
        let more = RowGroup.bytes(of: row)
        guard statement.several != nil, rows.count < RowGroup.most.rows, bytes + more <= RowGroup.most.bytes,
            shared == self.shared
        else { return false }
        rows.append(row)
        bytes += more
        return true
    }

    var request: WriteBatch.Request {
        guard rows.count > 1, let several = statement.several else { return (statement.one, shared + rows[0]) }
        return (several, shared + Value.columns(of: rows))
    }

    private static func bytes(of row: [Value]) -> Int {
        row.reduce(0) { sum, value in
            if case .bytes(let bytes) = value { sum + bytes.count } else { sum + 8 }
        }
    }
}

extension Value {
    /// Returns the columns of some rows as parameters, one array for each column. A Boolean becomes 1 or 0. A column of
    /// bytes may contain NULL, and a column of numbers may not.
    static func columns(of rows: [[Value]]) -> [Value] {
        guard let first = rows.first else { return [] }
        return first.indices.map { index -> Value in
            let column = rows.map { $0[index] }
            switch first[index] {
            case .integer, .bool: return .integers(column.map(\.number))
            case .null, .bytes, .text, .texts, .integers, .byteRows: return .byteRows(column.map(\.rowBytes))
            }
        }
    }

    private var number: Int64 {
        switch self {
        case .integer(let number): number
        case .bool(let flag): flag ? 1 : 0
        case .null, .text, .bytes, .integers, .texts, .byteRows:
            preconditionFailure("a column of numbers has another value")
        }
    }

    private var rowBytes: [UInt8]? {
        switch self {
        case .null: nil
        case .bytes(let bytes): bytes
        case .bool, .integer, .text, .integers, .texts, .byteRows:
            preconditionFailure("a column of bytes has another value")
        }
    }
}
#endif
