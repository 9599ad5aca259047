#if PostgreSQL
import PageModel

extension PostgreSQLPageStore {
    /// Reads a stored list in pieces, all of them in one transaction at the server (R2). Only one piece is in memory at
    /// a time. The local copy is not used. If the query is not stored, the call returns without a call of `next`.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - next: receives the list without its items, and the most recent piece (`nil` before the first piece). Returns
    ///     the positions of the next piece; `nil` ends the reading. `next` runs inside the transaction.
    /// - Throws: `StorageError`, as every read does.
    package func pieces(
        of query: QueryID, next: (ListOutline, ListWindow?) -> Range<Int>?
    ) async throws(StorageError) {
        try await server.reading(.endless) { work async throws(StorageError) in
            let found = try await work.read(PostgreSQLPageStore.outline(of: query))
            guard let outline = try self.outline(found) else { return try await work.commit() }
            let now = self.server.moment(found[1]).now
            var piece: ListWindow?
            while let range = next(outline, piece) {
                let rows = try await work.read([PostgreSQLPageStore.pages(of: query, range)])
                piece = self.window(range, of: outline.record, rows[0], at: now)
            }
            try await work.commit()
        }
    }
}
#endif
