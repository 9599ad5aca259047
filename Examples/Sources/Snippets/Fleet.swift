import PostgresPageStore

enum Fleet {
    static func store() async throws -> PostgreSQLPageStore {
        // snippet: store
        let store = try await PostgreSQLPageStore.open("postgres://pagecache@db.example.com/pagecache")
        // end
        return store
    }
}
