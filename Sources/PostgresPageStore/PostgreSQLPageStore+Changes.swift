#if PostgreSQL
public import PageModel

/// The journal of a list, and notices of its changes.
extension PostgreSQLPageStore {
    public func changes(
        of query: QueryID, since version: ContentVersion, limit: Int
    ) async throws(StorageError) -> ListChanges? {
        let id = Value.integer(query.rawValue)
        let limit = min(max(0, limit), ListTotal.largest)
        let found = try await server.read([
            (ListRow.byID, [id]), (JournalRow.since, [id, .int(version.counter), .int(limit + 2)]),
        ])
        guard let row = found[0].first else { return nil }
        let current = try whole(ListRow.read(row)).record.contentVersion
        return JournalRow.changes(found[1], of: query, since: version, current: current, limit: limit)
    }

    /// Returns the version that a list had at `moment`, for `changes(of:since:limit:)`. For a moment before the list
    /// was registered, returns the first version of the list, which has no items.
    ///
    /// Returns nil when the query is not stored, or when the journal of its list does not reach back to `moment`.
    /// - Throws: `StorageError`, as every read does.
    public func version(of query: QueryID, at moment: Timestamp) async throws(StorageError) -> ContentVersion? {
        let id = Value.integer(query.rawValue)
        let found = try await server.read([(JournalRow.lastUntil, [id, .time(moment)]), (JournalRow.oldest, [id])])
        func version(_ row: Row) -> ContentVersion { ContentVersion(counter: row.int(0), stamp: row.hash(1)) }
        if let last = found[0].first { return version(last) }
        return found[1].first.map(version).flatMap { $0.counter == 1 ? $0 : nil }
    }

    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> { announcer.notices(of: query) }

    public func watch() -> StorageWatch { announcer.watch() }

    public func changeCount(of query: QueryID) -> UInt64? { announcer.changeCount(of: query) }

    public var observedQueries: Set<QueryID> { announcer.hub.observedQueries }
}
#endif
