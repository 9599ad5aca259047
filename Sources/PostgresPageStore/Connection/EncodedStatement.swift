#if PostgreSQL
/// A statement with its parameters in the binary format of PostgreSQL
/// (https://www.postgresql.org/docs/15/protocol-overview.html#PROTOCOL-FORMAT-CODES). The calling task encodes the
/// statement, so that the thread of the connections only has to send it.
struct EncodedStatement: Sendable {
    /// The most parameters of a statement. The protocol counts parameters in 16 bits.
    static let mostParameters = 65_535
    /// The most bytes of all parameters together. PostgreSQL accepts messages of less than 1 GiB, and ends a session
    /// that sends a longer one. The parameters leave 1 MiB for their lengths and the rest of the message.
    static let mostBytes = (1 << 30) - (1 << 20)

    let sql: String
    /// The type of each parameter; 0 for NULL, whose type the server infers.
    private(set) var types: [UInt32] = []
    /// The length of each parameter; -1 for NULL.
    private(set) var lengths: [Int32] = []
    /// The parameters, one after the other.
    private(set) var bytes: [UInt8] = []

    /// - Parameter limit: the most bytes of all parameters. Defaults to ``mostBytes``.
    init(_ statement: Statement, limit: Int = EncodedStatement.mostBytes) throws(PostgresError) {
        guard !statement.sql.utf8.contains(0) else {
            throw PostgresError(.invalidValue, "a statement contains a NUL character")
        }
        guard statement.values.count <= EncodedStatement.mostParameters else {
            throw PostgresError(.invalidValue, "a statement has more than 65535 parameters")
        }
        sql = statement.sql
        types.reserveCapacity(statement.values.count)
        lengths.reserveCapacity(statement.values.count)
        for value in statement.values {
            try append(value)
            guard bytes.count <= limit else {
                throw PostgresError(
                    .server, "the parameters of a statement exceed \(limit) bytes", sqlstate: SQLState.limitExceeded)
            }
        }
    }

    static func encode(_ statements: [Statement]) throws(PostgresError) -> [EncodedStatement] {
        var encoded: [EncodedStatement] = []
        encoded.reserveCapacity(statements.count)
        for statement in statements { encoded.append(try EncodedStatement(statement)) }
        return encoded
    }

    private mutating func append(_ value: Value) throws(PostgresError) {
        let start = bytes.count
        switch value {
        case .null:
            types.append(TypeOID.unspecified)
            lengths.append(-1)
            return
        case .bool(let flag):
            types.append(TypeOID.bool)
            bytes.append(flag ? 1 : 0)
        case .integer(let number):
            types.append(TypeOID.int8)
            append(number)
        case .text(let text):
            types.append(TypeOID.text)
            try append(text)
        case .bytes(let value):
            types.append(TypeOID.bytea)
            bytes.append(contentsOf: value)
        case .integers(let numbers):
            types.append(TypeOID.int8Array)
            appendArrayHeader(of: TypeOID.int8, count: numbers.count)
            for number in numbers {
                append(Int32(8))
                append(number)
            }
        case .texts(let texts):
            types.append(TypeOID.textArray)
            appendArrayHeader(of: TypeOID.text, count: texts.count)
            for text in texts {
                append(Int32(truncatingIfNeeded: text.utf8.count))
                try append(text)
            }
        case .byteRows(let rows):
            types.append(TypeOID.byteaArray)
            appendArrayHeader(of: TypeOID.bytea, count: rows.count, hasNulls: rows.contains { $0 == nil })
            for row in rows {
                append(row.map { Int32(truncatingIfNeeded: $0.count) } ?? -1)
                if let row { bytes.append(contentsOf: row) }
            }
        }
        lengths.append(Int32(clamping: bytes.count - start))
    }

    /// An array begins with dimensions, a flag for NULLs and the type of its elements; each dimension has a length and
    /// a lower bound. An empty array has no dimension.
    private mutating func appendArrayHeader(of type: UInt32, count: Int, hasNulls: Bool = false) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(hasNulls ? 1 : 0))
        append(Int32(bitPattern: type))
        guard count > 0 else { return }
        append(Int32(truncatingIfNeeded: count))
        append(Int32(1))
    }

    private mutating func append(_ text: String) throws(PostgresError) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard !bytes[start...].contains(0) else {
            throw PostgresError(.invalidValue, "a text contains a NUL character, which PostgreSQL cannot store")
        }
    }

    private mutating func append<Integer: FixedWidthInteger>(_ number: Integer) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Calls `body` with the parameters in the form that libpq takes. The pointers are valid during the call.
    func withParameters<Outcome>(
        _ body: (
            _ count: Int32, _ types: UnsafePointer<UInt32>?, _ values: UnsafePointer<UnsafePointer<CChar>?>?,
            _ lengths: UnsafePointer<Int32>?, _ formats: UnsafePointer<Int32>?
        ) -> Outcome
    ) -> Outcome {
        guard !types.isEmpty else { return body(0, nil, nil, nil, nil) }
        let formats = [Int32](repeating: 1, count: types.count)
        return bytes.withUnsafeBytes { buffer in
            // A null pointer means NULL to libpq. An empty value therefore needs an address.
            let base = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            var offset = 0
            let values = lengths.map { length -> UnsafePointer<CChar>? in
                guard length >= 0, let base else { return nil }
                defer { offset += Int(length) }
                return (base + offset).assumingMemoryBound(to: CChar.self)
            }
            return body(Int32(types.count), types, values, lengths, formats)
        }
    }
}
#endif
