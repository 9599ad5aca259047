import PagedRepository
import PostgresPageStore

/// The store of the service: a SQLite file for one process, or a PostgreSQL database that several replicas share.
struct Store: Sendable {
    let storage: any PageStorage
    let close: @Sendable () async -> Void

    /// - Parameter place: the path of a file, or the address of a database, which begins with `postgres://`.
    init(at place: String) async throws {
        if place.hasPrefix("postgres://") {
            let store = try await PostgreSQLPageStore.open(place)
            (storage, close) = (store, { await store.close() })
        } else {
            let store = try await SQLitePageStore.open(at: place)
            (storage, close) = (store, { await store.close() })
        }
    }
}
