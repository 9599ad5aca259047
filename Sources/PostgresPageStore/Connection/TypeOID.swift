#if PostgreSQL
/// Object identifiers of built-in types. They never change (pg_type.dat of PostgreSQL).
enum TypeOID {
    static let unspecified: UInt32 = 0
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let timestamp: UInt32 = 1114
    static let timestamptz: UInt32 = 1184
    static let xid8: UInt32 = 5069
}
#endif
