#if Tool
import PageModel
import PageStore
import PagedRepository

#if PostgreSQL
import PostgresPageStore
#endif

/// The abilities of a store that commands need besides the port `PageStorage`. Stores in files and on servers have
/// them.
protocol ToolStore: PageStorage {
    /// The path or the name of the store for people, without a password.
    var name: String { get }
    /// Whether the store is still at its path. Always true for a server.
    var isInPlace: Bool { get }
    /// The link that the store was opened with, if it leads to another file now. `nil` otherwise, and for a server.
    var changedLink: String? { get }
    func close() async
    /// Closes the store, and checks that its data is still in its place.
    func closeInPlace() async throws(StorageError)
    /// Checks that no other program has changed the schema of the open store. Does nothing for a server.
    func checkSchema() async throws(StorageError)

    func summary(of query: QueryID) async throws(StorageError) -> QuerySummary?
    /// Returns every query with its size, its held positions and its failures. In these outlines one page may stand for
    /// several held ones.
    func listed() async throws(StorageError) -> [QuerySummary]
    /// Reads a stored list in pieces, all of them in one transaction (R2). Holds one piece in memory at a time.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - next: receives the list without its items, and the piece read last (`nil` before the first). Returns the
    ///     positions of the next piece; `nil` ends the reading. It runs inside the transaction, which keeps the log of
    ///     the store from being truncated, and must not use a store.
    func pieces(
        of query: QueryID, next: (ListOutline, ListWindow?) -> Range<Int>?
    ) async throws(StorageError)
    func version(of query: QueryID, at moment: Timestamp) async throws(StorageError) -> ContentVersion?
    func tally(of query: QueryID) async throws(StorageError) -> RunTally?
    func add(_ tally: RunTally, to query: QueryID) async throws(StorageError)
    func statistics() async throws(StorageError) -> StoreStatistics
    /// Returns the reason why this user cannot write into a store on a server. Returns nil when this user can write,
    /// and for a file.
    func writeObstacle() async throws(StorageError) -> String?
    /// Returns the record of every query, and what can be read of the damaged ones.
    func storedQueries() async throws(StorageError) -> StoredQueries
    /// Returns the problem in the header of the store's file that prevents writing. Returns nil when the header has no
    /// such problem, and for a server.
    func headerProblem() async throws(StorageError) -> String?
    func isReadable() async throws(StorageError) -> Bool
    func verify() async throws(StorageError) -> VerifyReport
    func repair() async throws(StorageError) -> RepairReport
    /// Returns the report that `repair` would return, as far as the findings show it. Changes nothing.
    func repairPreview() async throws(StorageError) -> RepairReport
    func purgeAll() async throws(StorageError) -> PurgeReport
    func evictionPreview(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport
    /// Evicts pages on a disk without a free byte, too, by writing the file anew. A crash meanwhile loses the store.
    /// For a store on a server, this is the same as `evict`.
    func evictRewritingFile(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport
    /// Returns the local copy of a store on a server, with its size, and the reason why it is not used. Returns nil for
    /// a store without a copy.
    func localCopy() async -> (path: String, bytes: Int, problem: String?)?
    /// The damaged files that repairs and `verify --set-aside` have left next to the store. Empty for a store on a
    /// server.
    var filesSetAside: [String] { get }
    /// Returns the given lease owners whose processes have certainly ended. Their leases are void (R30).
    func endedOwners(_ names: Set<String>) async throws(StorageError) -> Set<String>
}

extension SQLitePageStore: ToolStore {
    var name: String { path }
    func writeObstacle() async throws(StorageError) -> String? { nil }
    func localCopy() async -> (path: String, bytes: Int, problem: String?)? { nil }

    /// Closes the store, and checks that its path still leads to the stored data.
    /// - Throws: `StorageError` with code `moved` when the store was renamed, replaced or removed before the last
    ///   process had merged its log.
    func closeInPlace() async throws(StorageError) {
        await close()
        try checkPlace(while: "it was closed")
    }
}

#if PostgreSQL
extension PostgreSQLPageStore: ToolStore {
    /// The server sends the pages of all lists in one answer.
    func listed() async throws(StorageError) -> [QuerySummary] { try await summaries() }
    var isInPlace: Bool { true }
    var changedLink: String? { nil }
    func closeInPlace() async throws(StorageError) { await close() }
    func checkSchema() async throws(StorageError) {}
    /// The server checks the structure of its own files.
    func isReadable() async throws(StorageError) -> Bool { true }
    var filesSetAside: [String] { [] }
    func headerProblem() async throws(StorageError) -> String? { nil }

    func evictRewritingFile(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport {
        try await evict(to: budget, exempt: exempt)
    }

    func localCopy() async -> (path: String, bytes: Int, problem: String?)? {
        await localCopyStatus().map { ($0.path, $0.bytes, $0.problem) }
    }

    func repairPreview() async throws(StorageError) -> RepairReport {
        let found = try await verify()
        var report = RepairReport(found: found, remaining: VerifyReport())
        let lost: Set<Finding.Kind> = [.page, .items, .overlap, .duplicate]
        let places = found.findings.filter { lost.contains($0.kind) }.map {
            Finding(.page, query: $0.query, range: $0.range, "")
        }
        report.pagesDropped = Set(places).count
        return report
    }
}
#endif

/// The access that a command needs to the store.
enum StoreAccess {
    /// Creates a missing store.
    case creating
    /// Throws `notFound` when there is no store.
    case writing
    /// Changes nothing but an older schema, and needs no permission to write.
    case reading
}

extension ToolStore {
    /// Checks that the path of the store still leads to its data. A command checks this before it prints a result, so
    /// that no result is printed beside the error.
    /// - Parameter moment: the end of the message, such as "it was watched".
    /// - Throws: `StorageError` with code `moved` when the path leads to other data or to none.
    func checkPlace(while moment: String) throws(StorageError) {
        if let changedLink {
            throw StorageError(
                .moved, "the target of \(changedLink) was replaced by another file while the store was open")
        }
        guard isInPlace else {
            throw StorageError(.moved, "\(name) was renamed, replaced or removed while \(moment)")
        }
    }

    /// Returns the store's time, to compare with the stored times (R52). A server's clock can differ from this
    /// machine's.
    func now() async throws(StorageError) -> Timestamp { try await due(within: .zero, limit: 0).readAt }

    /// Returns the list without the ends of those leases whose process has ended, because the next sync can take their
    /// pages at once.
    func endingDeadLeases(in list: ListOutline) async throws(StorageError) -> ListOutline {
        let owners = Set(list.ledger.compactMap(\.leaseOwner))
        guard !owners.isEmpty else { return list }
        let ended = try await endedOwners(owners)
        var list = list
        for index in list.ledger.indices {
            if let owner = list.ledger[index].leaseOwner, ended.contains(owner) {
                list.ledger[index].leaseExpiresAt = nil
            }
        }
        return list
    }

    /// Reads a stored list in pieces, as `pieces(of:next:)` does. Throws the first error of `next`, and
    /// `CancellationError` in a cancelled task.
    func eachPiece(
        of query: QueryID, next: (ListOutline, ListWindow?) throws -> Range<Int>?
    ) async throws {
        var failure: (any Error)?
        try await pieces(of: query) { list, piece in
            do {
                try Task.checkCancellation()
                return try next(list, piece)
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { throw failure }
    }

    /// Does this work, and closes the store in every case.
    func closed<Value>(after work: (any ToolStore) async throws -> Value) async throws -> Value {
        do {
            let value = try await work(self)
            await close()
            return value
        } catch {
            await close()
            throw error
        }
    }
}

extension [QuerySummary] {
    /// The store's time of the read, or the time of this machine when there is no query.
    var readAt: Timestamp { first?.outline.readAt ?? SystemClock().now() }
}
#endif
