import PageModel

/// The numbers in the header of a store that show a change of its schema: SQLite's schema cookie, the schema version
/// and the application id (https://www.sqlite.org/fileformat2.html#the_database_header). Each transaction has the page
/// with these numbers in memory.
struct SchemaNumbers: Equatable {
    private let cookie: Int64
    private let version: Int64
    private let mark: Int64

    private static let readCookie = SQL("PRAGMA schema_version")
    private static let readVersion = SQL("PRAGMA user_version")
    private static let readMark = SQL("PRAGMA application_id")

    /// Reads the numbers as of the open transaction.
    init(of connection: Connection) throws(StorageError) {
        cookie = try connection.number(SchemaNumbers.readCookie) ?? 0
        version = try connection.number(SchemaNumbers.readVersion) ?? 0
        mark = try connection.number(SchemaNumbers.readMark) ?? 0
    }

    /// Checks that the schema behind these numbers is the one of this package (R46).
    /// - Throws: `damaged` when another program changed it; `newerSchema` when a newer version of this package migrated
    ///   the store (R8).
    func check(_ connection: Connection) throws(StorageError) {
        guard mark == Int64(StoreFile.applicationID) else {
            throw StorageError(.damaged, StoreHeader.wrongMark(connection.path))
        }
        do throws(StorageError) {
            try Migrator.compareSchema(of: connection)
        } catch {
            guard error.code == .notAStore || error.cause is SchemaChange else { throw error }
            throw StorageError(
                .damaged, "another program changed the store while it was open: \(error.message)",
                cause: error.cause ?? error)
        }
    }
}

extension Connection {
    /// Returns the change of the schema by another program that explains why SQLite refused a statement of this
    /// package, such as a missing index. Returns `error` when the schema is unchanged: the statement is then a defect
    /// of this package. Returns `error` for a file that is not a store, too. Call outside a transaction.
    func explainedBySchema(_ error: StorageError) -> StorageError {
        guard place != nil else { return error }
        do throws(StorageError) {
            try SchemaNumbers(of: self).check(self)
            return error
        } catch let change {
            return change
        }
    }
}
