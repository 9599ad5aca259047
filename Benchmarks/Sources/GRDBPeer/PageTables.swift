import Foundation
import GRDB
import Measuring

/// A page as it comes: the same bytes in every peer.
struct Page {
    var offset: Int
    var items: [(id: String, payload: Data)]

    init(_ number: Int, edition: Int = 0) {
        offset = number * 50
        items = (offset..<offset + 50).map { item in
            ("item-\(item)", Data(repeating: UInt8(truncatingIfNeeded: item &+ edition), count: 500))
        }
    }
}

/// How a program with GRDB stores pages and reads them: each call is one transaction.
protocol PageTables {
    /// Its name in the tables.
    static var name: String { get }

    init(_ pool: DatabasePool)

    func commit(_ page: Page, at now: Int64) throws
    /// Replaces a page with another one.
    func replace(_ page: Page, at now: Int64) throws
    func confirm(_ offset: Int, at now: Int64) throws
    func fail(_ offset: Int, at now: Int64) throws
    /// The number of items that were read.
    func page(at offset: Int) throws -> Int
    /// - Parameter range: of positions.
    func window(_ range: Range<Int>) throws -> Int
    /// Where the item lies.
    func find(_ id: String) throws -> Int?
}

/// A database as GRDB's documentation recommends it for one that is read while it is written: a pool, so a write-ahead
/// log and `synchronous=NORMAL` (https://swiftpackageindex.com/groue/grdb.swift/documentation/grdb/databasepool).
enum Database {
    static func pool(at path: String) throws -> DatabasePool {
        let pool = try DatabasePool(path: path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { database in
            try database.execute(
                sql: """
                    CREATE TABLE item (
                        query INTEGER NOT NULL, offset INTEGER NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL,
                        payload BLOB NOT NULL, PRIMARY KEY (query, offset, place)
                    ) WITHOUT ROWID;
                    CREATE TABLE page (
                        query INTEGER NOT NULL, offset INTEGER NOT NULL, count INTEGER NOT NULL, fetchedAt INTEGER NOT NULL,
                        validatedAt INTEGER NOT NULL, PRIMARY KEY (query, offset)
                    ) WITHOUT ROWID;
                    CREATE TABLE ledger (
                        query INTEGER NOT NULL, offset INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
                        nextAttemptAt INTEGER, message TEXT, PRIMARY KEY (query, offset)
                    ) WITHOUT ROWID;
                    """)
        }
        try migrator.migrate(pool)
        return pool
    }
}
