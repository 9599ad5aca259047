import Foundation
import GRDB

/// Statements that are prepared once, and rows taken apart by column numbers: the quickest way GRDB documents.
struct RawRows: PageTables {
    static let name = "GRDB rows"
    private let pool: DatabasePool

    init(_ pool: DatabasePool) { self.pool = pool }

    func commit(_ page: Page, at now: Int64) throws {
        try pool.write { database in try insert(page, at: now, in: database) }
    }

    func replace(_ page: Page, at now: Int64) throws {
        try pool.write { database in
            try database.cachedStatement(sql: "DELETE FROM item WHERE query = 1 AND offset = ?").execute(arguments: [
                page.offset
            ])
            try insert(page, at: now, in: database)
        }
    }

    private func insert(_ page: Page, at now: Int64, in database: GRDB.Database) throws {
        let insert = try database.cachedStatement(
            sql: "INSERT INTO item (query, offset, place, id, payload) VALUES (1, ?, ?, ?, ?)")
        for (place, item) in page.items.enumerated() {
            try insert.execute(arguments: [page.offset, place, item.id, item.payload])
        }
        try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO page (query, offset, count, fetchedAt, validatedAt) VALUES (1, ?, ?, ?, ?)"
        ).execute(arguments: [page.offset, page.items.count, now, now])
        try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO ledger (query, offset, state, attempts) VALUES (1, ?, 'ok', 1)"
        ).execute(arguments: [page.offset])
    }

    func confirm(_ offset: Int, at now: Int64) throws {
        try pool.write { database in
            try database.cachedStatement(sql: "UPDATE page SET validatedAt = ? WHERE query = 1 AND offset = ?")
                .execute(arguments: [now, offset])
        }
    }

    func fail(_ offset: Int, at now: Int64) throws {
        try pool.write { database in
            try database.cachedStatement(
                sql: """
                    INSERT INTO ledger (query, offset, state, attempts, nextAttemptAt, message) VALUES (1, ?, ?, 1, ?, ?)
                    ON CONFLICT DO UPDATE SET state = excluded.state, attempts = attempts + 1,
                        nextAttemptAt = excluded.nextAttemptAt, message = excluded.message
                    """
            ).execute(arguments: [offset, "failed_retryable", now + 30_000, "the origin answered 503"])
        }
    }

    func page(at offset: Int) throws -> Int {
        try pool.read { database in
            let select = try database.cachedStatement(
                sql: "SELECT id, payload FROM item WHERE query = 1 AND offset = ? ORDER BY place")
            return try items(select, [offset])
        }
    }

    func window(_ range: Range<Int>) throws -> Int {
        try pool.read { database in
            let select = try database.cachedStatement(
                sql: """
                    SELECT id, payload FROM item
                    WHERE query = 1 AND offset > ? AND offset < ? AND offset + place >= ? AND offset + place < ?
                    ORDER BY offset, place
                    """)
            return try items(select, [range.lowerBound - 50, range.upperBound, range.lowerBound, range.upperBound])
        }
    }

    private func items(_ select: Statement, _ arguments: StatementArguments) throws -> Int {
        var items: [(String, Data)] = []
        let rows = try Row.fetchCursor(select, arguments: arguments)
        while let row = try rows.next() { items.append((row[0], row[1])) }
        return items.count
    }

    func find(_ id: String) throws -> Int? {
        try pool.read { database in
            try Int.fetchOne(
                database, sql: "SELECT offset + place FROM item WHERE query = 1 AND id = ?", arguments: [id])
        }
    }
}
