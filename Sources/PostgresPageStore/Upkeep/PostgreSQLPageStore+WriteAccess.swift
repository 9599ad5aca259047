#if PostgreSQL
import PageModel

extension PostgreSQLPageStore {
    private static let access = SQL(
        """
        SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on',
            has_table_privilege(current_user, $1, 'INSERT, UPDATE, DELETE')
        """)

    /// Returns the reason why this role cannot write to the store. Returns nil when the role can write.
    /// - Throws: `StorageError`, as every read does.
    package func writeObstacle() async throws(StorageError) -> String? {
        let table = "\(server.dialect.schema).page"
        guard let row = try await server.read((PostgreSQLPageStore.access, [.text(table)])).first else { return nil }
        if row.bool(0) { return "the server is a standby, which is read-only" }
        if row.bool(1) { return "the server is read-only (default_transaction_read_only)" }
        return row.bool(2) ? nil : "this user can only read the store"
    }
}
#endif
