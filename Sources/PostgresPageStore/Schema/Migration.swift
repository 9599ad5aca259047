#if PostgreSQL
import PageModel

/// One numbered step of the schema.
struct Migration {
    /// The schema version after this step.
    let version: Int
    /// The name of its file in `Migrations/postgres/`.
    let name: String
    let script: [UInt8]

    /// The checksum stored in `Migrations/postgres/CHECKSUMS` and in every migrated store (XXH64, as `xxh64sum` prints
    /// it).
    var checksum: String {
        let digits = String(XXH64.hash(script), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The statements of the script, which run one by one because the extended protocol accepts one statement at a
    /// time.
    var statements: [String] {
        String(decoding: script, as: UTF8.self).split(separator: ";\n").map(String.init).filter { part in
            part.split(separator: "\n").contains { !$0.isEmpty && !$0.hasPrefix("--") }
        }
    }

    /// Every step, in order. The embedded files cannot be enumerated, so the list is maintained by hand. A test
    /// compares it with the folder.
    static let catalogue: [Migration] = [
        Migration(version: 1, name: "v0001_pages.sql", script: PackageResources.v0001_pages_sql)
    ]

    /// The newest schema version, which this build reads and writes.
    static let newest = catalogue.count
}
#endif
