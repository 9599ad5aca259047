#if PostgreSQL
import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PostgresPageStore

/// A schema of its own on the test server, and statements on it next to the store.
struct Schema {
    var name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
    let address = TestServer.connectionString ?? ""
    let pool: PostgresPool

    init() throws { pool = try PostgresPool(TestServer.connectionString ?? "", connections: 1) }

    var options: PostgreSQLPageStore.Options {
        var options = PostgreSQLPageStore.Options()
        options.schema = name
        options.connections = 2
        // Only a hanging test meets these limits, and no lease ends because a busy machine renews its heartbeat late.
        options.busyBudget = .seconds(60)
        options.timeLimit = .seconds(300)
        options.ownerLease = .seconds(600)
        return options
    }

    func open(
        _ mode: PostgreSQLPageStore.Mode = .createIfMissing, pollInterval: Duration = .seconds(1),
        clock: (any StorageClock)? = nil
    ) async throws(StorageError) -> PostgreSQLPageStore {
        var options = options
        options.pollInterval = pollInterval
        return try await PostgreSQLPageStore.open(address, mode: mode, options: options, clock: clock)
    }

    @discardableResult
    func run(_ statements: String...) async throws -> [Rows] {
        try await pool.run(statements.map { Statement($0) }, until: .now + .seconds(300))
    }

    /// The tables and their rows, to compare before and after.
    func content() async throws -> [String] {
        let rows = try await run(
            "SELECT c.relname::text || ' ' || c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '\(name)' ORDER BY 1"
        )[0]
        return (0..<rows.count).compactMap { rows.text($0, 0) }
    }
}

@Suite("Opening a store on a server", .enabled(if: TestServer.isThere))
struct ServerOpeningTests {
    @Test("A store is created once, by whichever of eight replicas is first")
    func together() async throws {
        let schema = try Schema()
        let keys = try await withThrowingTaskGroup(of: QueryID.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = try await schema.open()
                    let id = try await store.register(QueryKey("https://example.com/list")).id
                    await store.close()
                    return id
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
    }

    @Test("A missing store is not created for a reader, nor where it must exist")
    func missing() async throws {
        let schema = try Schema()
        #expect(await code { try await schema.open(.mustExist) } == .notFound)
        #expect(await code { try await schema.open(.readOnly) } == .notFound)
        #expect(try await schema.content() == [])
        await (try schema.open()).close()
        let reader = try await schema.open(.readOnly)
        #expect(await code { try await reader.register("a") } == .permission)
        #expect(try await reader.records() == [])
    }

    @Test("A store of a newer version is refused and unchanged")
    func newer() async throws {
        let schema = try Schema()
        await (try schema.open()).close()
        try await schema.run("INSERT INTO \(schema.name).migration VALUES (99, 'v0099_later.sql', 'x')")
        let before = try await schema.content()
        #expect(await code { try await schema.open() } == .newerSchema)
        #expect(await code { try await schema.open(.readOnly) } == .newerSchema)
        #expect(try await schema.content() == before)
    }

    @Test("Tables that are not those of a store are refused and unchanged")
    func foreign() async throws {
        let schema = try Schema()
        try await schema.run("CREATE SCHEMA \(schema.name)", "CREATE TABLE \(schema.name).query (id int)")
        #expect(await code { try await schema.open() } == .notAStore)
        #expect(try await schema.content() == ["query r"])
        let other = try Schema()
        await (try other.open()).close()
        try await other.run("ALTER TABLE \(other.name).page ADD COLUMN more text")
        #expect(await code { try await other.open() } == .notAStore)
    }

    @Test("A store with a trigger, a rule or a view is refused (R46)")
    func hostile() async throws {
        let changes = [
            "CREATE RULE r AS ON INSERT TO @.page DO INSTEAD NOTHING",
            "CREATE VIEW @.extra AS SELECT 1",
            "CREATE TRIGGER t BEFORE UPDATE ON @.query FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        ]
        for change in changes {
            let schema = try Schema()
            await (try schema.open()).close()
            try await schema.run(change.replacingOccurrences(of: "@", with: schema.name))
            #expect(await code { try await schema.open() } == .notAStore, "\(change)")
        }
    }

    @Test("The catalogue of migrations equals the folder, and the checksums hold")
    func catalogue() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Migrations/postgres")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
        #expect(files.sorted() == Migration.catalogue.map(\.name))
        let written = try String(contentsOf: folder.appendingPathComponent("CHECKSUMS"), encoding: .utf8)
        let now = Migration.catalogue.map { "\($0.checksum)  \($0.name)\n" }.joined()
        #expect(written == now)
    }

    @Test("A wrong password, a missing database and a missing server have codes of their own, and no password is shown")
    func addresses() async throws {
        let parts = (TestServer.connectionString ?? "").split(separator: "/", maxSplits: 3).map(String.init)
        let host = parts[1].split(separator: "@").last ?? ""
        func failure(_ address: String, within budget: Duration = .seconds(60)) async -> StorageError? {
            var options = PostgreSQLPageStore.Options()
            options.busyBudget = budget
            do {
                _ = try await PostgreSQLPageStore.open(address, options: options)
                return nil
            } catch {
                return error
            }
        }
        let cases: [(String, StorageError.Code)] = [
            ("postgres://\(parts[1])/no_such_database", .notFound),
            ("postgres://nobody:hidden-word@127.0.0.1:9/x", .unavailable),
            ("postgres://[hidden-word", .cannotCreate),
        ]
        for (address, code) in cases {
            // An unavailable server is waited for.
            let error = await failure(address, within: code == .unavailable ? .seconds(3) : .seconds(60))
            #expect(error?.code == code, "\(address): \(String(describing: error))")
            #expect(error?.message.contains("hidden-word") == false)
        }
        let wrong = await failure("postgres://scram:hidden-word@\(host)/\(parts.last ?? "")")
        #expect(wrong?.code == .permission, "\(String(describing: wrong))")
        #expect(wrong?.message.contains("hidden-word") == false)
    }

    @Test("A role without the right to create schemas uses an empty schema that an administrator has made for it")
    func ownSchema() async throws {
        let schema = try Schema()
        let host = (TestServer.connectionString ?? "").split(separator: "@").last ?? ""
        try await schema.run(
            "CREATE ROLE r\(schema.name) LOGIN", "CREATE SCHEMA \(schema.name) AUTHORIZATION r\(schema.name)")
        let address = "postgres://r\(schema.name)@\(host)"
        let store = try await PostgreSQLPageStore.open(address, options: schema.options)
        let id = try await store.register("list").id
        await store.close()
        let again = try await PostgreSQLPageStore.open(address, options: schema.options)
        #expect(try await again.records().map(\.id) == [id])
        await again.close()
    }

    @Test("A name of a schema that the server would shorten is refused")
    func schemaName() async throws {
        for name in ["", "a\0b", String(repeating: "x", count: 64), String(repeating: "é", count: 32)] {
            var options = PostgreSQLPageStore.Options()
            options.schema = name
            let settings = options
            let found = await code {
                try await PostgreSQLPageStore.open(TestServer.connectionString ?? "", options: settings)
            }
            #expect(found == .cannotCreate, "\(name)")
        }
        var schema = try Schema()
        schema.name += String(repeating: "x", count: 63 - schema.name.utf8.count)
        for _ in 0..<2 { await (try schema.open()).close() }
    }

    @Test("A role whose transactions begin with another isolation level may only read (R4)")
    func isolation() async throws {
        let schema = try Schema()
        await (try schema.open()).close()
        let separator = schema.address.contains("?") ? "&" : "?"
        for level in ["serializable", "repeatable%5C%20read"] {
            let address = schema.address + "\(separator)options=-cdefault_transaction_isolation%3D\(level)"
            for mode in [PostgreSQLPageStore.Mode.createIfMissing, .mustExist] {
                let found = await code {
                    try await PostgreSQLPageStore.open(address, mode: mode, options: schema.options)
                }
                #expect(found == .cannotCreate, "\(level)")
            }
            let reader = try await PostgreSQLPageStore.open(address, mode: .readOnly, options: schema.options)
            #expect(try await reader.records() == [])
            await reader.close()
        }
    }

    @Test("A role that may not create tables is told so, and a standby is read only")
    func rights() async throws {
        let schema = try Schema()
        let host = (TestServer.connectionString ?? "").split(separator: "@").last ?? ""
        try await schema.run("CREATE ROLE r\(schema.name) LOGIN")
        #expect(
            await code {
                try await PostgreSQLPageStore.open("postgres://r\(schema.name)@\(host)", options: schema.options)
            } == .permission)
        #expect(try await schema.content() == [])
        await (try schema.open()).close()
        // A standby refuses writes as a session with read-only transactions does.
        let separator = host.contains("?") ? "&" : "?"
        let reader = try await PostgreSQLPageStore.open(
            schema.address + "\(separator)options=-cdefault_transaction_read_only%3Don", mode: .mustExist,
            options: schema.options)
        #expect(await code { try await reader.register("a") } == .permission)
        #expect(try await reader.records() == [])
        #expect(try await reader.writeObstacle()?.contains("default_transaction_read_only") == true)
        try await schema.run("GRANT USAGE ON SCHEMA \(schema.name) TO r\(schema.name)")
        try await schema.run("GRANT SELECT ON ALL TABLES IN SCHEMA \(schema.name) TO r\(schema.name)")
        let guest = try await PostgreSQLPageStore.open(
            "postgres://r\(schema.name)@\(host)", mode: .readOnly, options: schema.options)
        #expect(try await guest.writeObstacle() == "this user can only read the store")
        let owner = try await schema.open()
        #expect(try await owner.writeObstacle() == nil)
        for store in [reader, guest, owner] { await store.close() }
    }
}
#endif
