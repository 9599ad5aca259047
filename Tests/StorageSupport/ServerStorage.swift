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
    // Only a hanging test meets these limits, and no lease ends because a busy machine renews its heartbeat late.
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

extension TestServer {
    /// The address of a store in a schema of its own, as the tool takes it.
    /// - Parameters:
    ///   - user: The role, which may be followed by ":" and a password. `nil` means the role of the tests.
    ///   - database: The database. `nil` means that of the tests.
    ///   - parameters: Further parameters of the address. Defaults to none.
    public static func address(
        schema: String, user: String? = nil, database: String? = nil, parameters: [String] = []
    ) -> String {
        let parts = (connectionString ?? "").split(separator: "?", maxSplits: 1).map(String.init)
        let place = (parts.first ?? "").replacing("postgresql://", with: "").replacing("postgres://", with: "")
        var host = place.split(separator: "@").last.map(String.init) ?? ""
        if let database { host = "\(host.prefix { $0 != "/" })/\(database)" }
        let role = user ?? place.split(separator: "@").first.map(String.init) ?? ""
        let all = parts.dropFirst() + parameters + ["pagecache_schema=\(schema)"]
        return "postgres://\(role)@\(host)?\(all.joined(separator: "&"))"
    }

    /// Runs statements on the test server, in one transaction.
    public static func run(_ statements: String...) async throws {
        #if PostgreSQL
        let pool = try PostgresPool(connectionString ?? "", connections: 1)
        let result: Result<Void, any Error>
        do {
            _ = try await pool.run(statements.map { Statement($0) }, until: .now + .seconds(300))
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await pool.close()
        try result.get()
        #else
        throw StorageError(.notFound, "this build has no PostgreSQL")
        #endif
    }
}
