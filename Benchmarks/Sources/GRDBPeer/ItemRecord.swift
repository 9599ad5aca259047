import Foundation
import GRDB

/// One item as a program with GRDB keeps it: a row of its own, Codable, keyed by its list, its page and its place in
/// the page.
struct ItemRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "item"

    var query: Int64
    var offset: Int
    var place: Int
    var id: String
    var payload: Data
}

/// The record of a page.
struct PageRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "page"

    var query: Int64
    var offset: Int
    var count: Int
    var fetchedAt: Int64
    var validatedAt: Int64
}

/// The fetch record of a page.
struct LedgerRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "ledger"

    var query: Int64
    var offset: Int
    var state: String
    var attempts: Int
    var nextAttemptAt: Int64?
    var message: String?
}
