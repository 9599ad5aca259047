public import PageModel
#if PostgreSQL
import PostgresPageStore
#endif

/// Runs `body` with an empty storage on the test server, in a schema of its own that is dropped afterwards.
public func withServerStorage<Value>(
    clock: any StorageClock, _ body: (any PageStorage) async throws -> Value
) async throws -> Value {
    #if PostgreSQL
    let address = TestServer.connectionString ?? ""
    var options = PostgreSQLPageStore.Options()
    options.schema = Folder().schema
    options.countsUp = true
    options.connections = 1
    // Only a hanging test meets these limits, and no lease ends because a busy machine renews its sign of life late.
    options.busyBudget = .seconds(60)
    options.timeLimit = .seconds(300)
    options.ownerLease = .seconds(600)
    let store = try await PostgreSQLPageStore.open(address, options: options, clock: clock)
    let result: Result<Value, any Error>
    do { result = .success(try await body(store)) } catch { result = .failure(error) }
    await store.close()
    let pool = try PostgresPool(address, connections: 1)
    _ = try? await pool.run([Statement("DROP SCHEMA \(options.schema) CASCADE")], until: .now + .seconds(30))
    await pool.close()
    return try result.get()
    #else
    throw StorageError(.notFound, "this build has no PostgreSQL")
    #endif
}
