import Foundation
import GRDB

/// Records that are Codable, saved and fetched as such: the way most programs with GRDB are written.
struct CodableRecords: PageTables {
    static let name = "GRDB Codable"
    private let pool: DatabasePool

    init(_ pool: DatabasePool) { self.pool = pool }

    func commit(_ page: Page, at now: Int64) throws {
        try pool.write { database in try insert(page, at: now, in: database) }
    }

    func replace(_ page: Page, at now: Int64) throws {
        try pool.write { database in
            _ = try ItemRecord.filter(Column("query") == 1 && Column("offset") == page.offset).deleteAll(database)
            try insert(page, at: now, in: database)
        }
    }

    private func insert(_ page: Page, at now: Int64, in database: GRDB.Database) throws {
        for (place, item) in page.items.enumerated() {
            try ItemRecord(query: 1, offset: page.offset, place: place, id: item.id, payload: item.payload).insert(
                database)
        }
        try PageRecord(query: 1, offset: page.offset, count: page.items.count, fetchedAt: now, validatedAt: now).save(
            database)
        try LedgerRecord(query: 1, offset: page.offset, state: "ok", attempts: 1).save(database)
    }

    func confirm(_ offset: Int, at now: Int64) throws {
        try pool.write { database in
            let held = try PageRecord.filter(Column("query") == 1 && Column("offset") == offset).fetchOne(database)
            guard var page = held else { return }
            page.validatedAt = now
            try page.update(database)
        }
    }

    func fail(_ offset: Int, at now: Int64) throws {
        try pool.write { database in
            let held = try LedgerRecord.filter(Column("query") == 1 && Column("offset") == offset).fetchOne(database)
            try LedgerRecord(
                query: 1, offset: offset, state: "failed_retryable", attempts: (held?.attempts ?? 0) + 1,
                nextAttemptAt: now + 30_000, message: "the origin answered 503"
            ).save(database)
        }
    }

    func page(at offset: Int) throws -> Int {
        try pool.read { database in
            try ItemRecord.filter(Column("query") == 1 && Column("offset") == offset)
                .order(Column("place")).fetchAll(database).count
        }
    }

    func window(_ range: Range<Int>) throws -> Int {
        let position = Column("offset") + Column("place")
        return try pool.read { database in
            try ItemRecord
                .filter(Column("query") == 1)
                .filter(Column("offset") > range.lowerBound - 50 && Column("offset") < range.upperBound)
                .filter(position >= range.lowerBound && position < range.upperBound)
                .order(Column("offset"), Column("place")).fetchAll(database).count
        }
    }

    func find(_ id: String) throws -> Int? {
        try pool.read { database in
            try ItemRecord.filter(Column("query") == 1 && Column("id") == id).fetchOne(database).map {
                $0.offset + $0.place
            }
        }
    }
}
