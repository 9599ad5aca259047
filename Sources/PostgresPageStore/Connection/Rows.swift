#if PostgreSQL
import CPostgres

/// A result of libpq. The result is freed with the last reference to this object.
///
/// `@unchecked` because no code changes a result after libpq returned it. Threads may share it then
/// (https://www.postgresql.org/docs/15/libpq-threading.html).
final class ResultHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }
}

/// The rows of one statement. Values stay in the binary format until they are read. An accessor returns nil for a
/// column that is NULL, does not exist, or has a type that the accessor does not read.
package struct Rows: Sendable {
    private let handle: ResultHandle
    /// The number of rows.
    package let count: Int

    init(_ handle: ResultHandle) {
        self.handle = handle
        count = Int(PQntuples(handle.pointer))
    }

    /// The number of rows that an INSERT, UPDATE or DELETE changed, or that a SELECT returned; 0 for most other
    /// statements.
    package var affected: Int {
        guard let text = PQcmdTuples(handle.pointer) else { return 0 }
        return Int(String(cString: text)) ?? 0
    }

    /// The command tag of the server, such as "UPDATE 3" or "COMMIT".
    package var commandTag: String { PQcmdStatus(handle.pointer).map { String(cString: $0) } ?? "" }

    package func isNull(_ row: Int, _ column: Int) -> Bool { value(row, column) == nil }

    package func bool(_ row: Int, _ column: Int) -> Bool? {
        guard let bytes = value(row, column, TypeOID.bool), bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }

    /// The number in a column of an integer type. For a timestamp, the microseconds since 2000-01-01 00:00 UTC.
    package func integer(_ row: Int, _ column: Int) -> Int64? {
        guard let bytes = value(row, column) else { return nil }
        switch type(column) {
        case TypeOID.int8, TypeOID.timestamp, TypeOID.timestamptz, TypeOID.xid8:
            return bytes.bigEndian(Int64.self, at: 0)
        case TypeOID.int4: return bytes.bigEndian(Int32.self, at: 0).map { Int64($0) }
        case TypeOID.oid: return bytes.bigEndian(UInt32.self, at: 0).map { Int64($0) }
        case TypeOID.int2: return bytes.bigEndian(Int16.self, at: 0).map { Int64($0) }
        default:
            assertionFailure("column \(column) has type \(type(column)), which is not a whole number")
            return nil
        }
    }

    package func double(_ row: Int, _ column: Int) -> Double? {
        guard let bytes = value(row, column) else { return nil }
        switch type(column) {
        case TypeOID.float8: return bytes.bigEndian(UInt64.self, at: 0).map { Double(bitPattern: $0) }
        case TypeOID.float4: return bytes.bigEndian(UInt32.self, at: 0).map { Double(Float(bitPattern: $0)) }
        default: return nil
        }
    }

    /// The text of a column whose binary format is its text: text, varchar, name, json, xml, enums.
    package func text(_ row: Int, _ column: Int) -> String? {
        value(row, column).map { String(decoding: $0, as: UTF8.self) }
    }

    package func bytes(_ row: Int, _ column: Int) -> [UInt8]? { value(row, column).map { Array($0) } }

    /// Calls `body` with the bytes of a value, without copying them. The bytes are valid only during the call.
    package func withBytes<Outcome, Failure: Error>(
        _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        defer { withExtendedLifetime(handle) {} }
        return try body(value(row, column))
    }

    /// The elements of an int8[] column. Returns nil when an element is NULL.
    package func integers(_ row: Int, _ column: Int) -> [Int64]? {
        elements(row, column, TypeOID.int8Array) { $0.flatMap { $0.bigEndian(Int64.self, at: 0) } }
    }

    /// The elements of a text[] column. Returns nil when an element is NULL.
    package func texts(_ row: Int, _ column: Int) -> [String]? {
        elements(row, column, TypeOID.textArray) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The elements of a bytea[] column, with nil for an element that is NULL.
    package func byteRows(_ row: Int, _ column: Int) -> [[UInt8]?]? {
        elements(row, column, TypeOID.byteaArray) { .some($0.map { Array($0) }) }
    }

    private func type(_ column: Int) -> UInt32 { PQftype(handle.pointer, Int32(clamping: column)) }

    private func value(_ row: Int, _ column: Int, _ expected: UInt32) -> UnsafeRawBufferPointer? {
        type(column) == expected ? value(row, column) : nil
    }

    private func value(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        guard row >= 0, row < count, column >= 0, column < Int(PQnfields(handle.pointer)),
            PQgetisnull(handle.pointer, Int32(row), Int32(column)) == 0,
            let start = PQgetvalue(handle.pointer, Int32(row), Int32(column))
        else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(handle.pointer, Int32(row), Int32(column))))
    }

    /// Decodes an array of one dimension. `decode` returns nil for an element that it cannot represent.
    private func elements<Element>(
        _ row: Int, _ column: Int, _ type: UInt32, _ decode: (UnsafeRawBufferPointer?) -> Element?
    ) -> [Element]? {
        guard let bytes = value(row, column, type), let dimensions = bytes.bigEndian(Int32.self, at: 0) else {
            return nil
        }
        guard dimensions > 0 else { return [] }
        guard dimensions == 1, let count = bytes.bigEndian(Int32.self, at: 12) else { return nil }
        var (elements, offset): ([Element], Int) = ([], 20)
        // Each element takes four bytes at least, so a wrong count cannot reserve much.
        guard count >= 0, Int(count) <= (bytes.count - offset) / 4 else { return nil }
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let length = bytes.bigEndian(Int32.self, at: offset) else { return nil }
            offset += 4
            var element: UnsafeRawBufferPointer?
            if length >= 0 {
                guard Int(length) <= bytes.count - offset else { return nil }
                element = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + Int(length))])
                offset += Int(length)
            }
            guard let decoded = decode(element) else { return nil }
            elements.append(decoded)
        }
        return elements
    }
}

extension UnsafeRawBufferPointer {
    /// Reads a number in network byte order. Returns nil where the bytes end earlier.
    fileprivate func bigEndian<Integer: FixedWidthInteger>(_ type: Integer.Type, at offset: Int) -> Integer? {
        guard offset >= 0, offset + MemoryLayout<Integer>.size <= count else { return nil }
        return Integer(bigEndian: loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }
}
#endif
