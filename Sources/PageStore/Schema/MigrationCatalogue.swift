import PageModel

/// One numbered step of the schema.
struct Migration: Sendable {
    /// The schema version after this step.
    let version: Int
    /// The name of the step's file in `Migrations/`.
    let name: String
    let script: [UInt8]

    /// The checksum stored in `Migrations/CHECKSUMS` and in every migrated store (XXH64, as `xxh64sum` prints it).
    var checksum: String {
        let digits = String(XXH64.hash(script), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Every step, in order. The embedded files cannot be enumerated, so the list is maintained by hand. A test
    /// compares it with the folder. Another test adds a step, because no older schema was released.
    @TaskLocal static var catalogue: [Migration] = [
        Migration(version: 1, name: "v0001_pages.sql", script: PackageResources.v0001_pages_sql)
    ]

    /// The newest schema version, which this build reads and writes.
    static var newest: Int { catalogue.count }
}
