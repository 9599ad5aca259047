import CSQLite
import PageModel

/// The checksum of a row over its own columns, in their order.
///
/// Every step is a bijection of the previous value and of the mixed value. A single different value therefore always
/// changes the seal. Two different values go unnoticed with a probability of 2^-64.
struct Seal {
    private(set) var value: UInt64

    init(_ table: UInt64) {
        value = table &* Seal.odd
    }

    mutating func mix(_ word: UInt64) {
        value = (value ^ word) &* Seal.odd
        value ^= value >> 32
    }

    mutating func mix(_ number: Int64) { mix(UInt64(bitPattern: number)) }
    mutating func mix(_ number: Int) { mix(UInt64(bitPattern: Int64(number))) }
    mutating func mix(_ bytes: UnsafeRawBufferPointer) { mix(XXH64.hash(bytes, seed: UInt64(bytes.count))) }
    mutating func mixNull() { mix(Seal.null) }

    mutating func mix(_ text: String?) {
        guard var text else { return mixNull() }
        text.withUTF8 { mix(UnsafeRawBufferPointer($0)) }
    }

    mutating func mix(_ number: Int?) {
        guard let number else { return mixNull() }
        mix(number)
    }

    mutating func mix(_ time: Timestamp?) {
        guard let time else { return mixNull() }
        mix(time.milliseconds)
    }

    private static let odd: UInt64 = 0x9E37_79B9_7F4A_7C15
    private static let null: UInt64 = 0x6e75_6c6c_6e75_6c6c

    static let query: UInt64 = 1
    static let page: UInt64 = 2
    static let identity: UInt64 = 3
    static let body: UInt64 = 4
    static let store: UInt64 = 5
    static let journal: UInt64 = 6
}

extension Seal {
    /// Defines the SQL function `page_seal`, for statements that rewrite many rows. Its arguments are the columns of
    /// `page` without the seal, in order.
    static func define(in connection: Connection) throws(StorageError) {
        try connection.define("page_seal", arguments: 20) { context, count, values in
            guard let values else { return sqlite3_result_null(context) }
            var seal = Seal(Seal.page)
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
