#if PostgreSQL && canImport(Glibc)
import Foundation
import PageModel
import PageStore
import StorageSupport
import Testing

@testable import PostgresPageStore

/// A server that loses its newest commits, below replicas with local copies. The counter of the lost version comes again
/// with other content.
@Suite(
    "A local copy over a server that loses commits", .serialized, .ownServer,
    .enabled(if: OwnServer.isPossible, OwnServer.isImpossible))
struct LocalCopyLossTests {
    private let folder = Folder()
    private let schema = "copy_" + UUID().uuidString.lowercased().filter { $0 != "-" }

    private func open(at address: String = OwnServer.connectionString, hasCopy: Bool) async throws
        -> PostgreSQLPageStore
    {
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(60)
        options.pollInterval = .milliseconds(100)
        if hasCopy { options.localCopy = PostgreSQLPageStore.LocalCopy(path: "\(folder.path)/copy.sqlite") }
        return try await PostgreSQLPageStore.open(address, options: options)
    }

    /// Replaces page two. Page one is always the same.
    private func replace(_ store: PostgreSQLPageStore, _ query: QueryID, _ names: Range<Int>) async throws {
        let list = try #require(try await store.outline(of: query))
        let write = PageWrite(offset: 10, content: items(names), evidence: .inferred)
        let one = PageWrite(offset: 0, content: items((0..<10).map { "one \($0)" }), evidence: .inferred)
        let edits: [ListEdit] =
            list.pages.isEmpty
            ? [.insertPage(one), .insertPage(write)] : [.rearrange(.replacing(10..<20, with: write))]
        let outcome = try await store.commit(CommitPlan(query: query, version: list.record.version, edits: edits))
        guard case .committed = outcome else { throw StorageError(.internal, "\(outcome)") }
    }

    /// What one read returned.
    private struct Seen: Equatable {
        var version: ContentVersion
        var ids: [String]
    }

    private func read(
        _ store: PostgreSQLPageStore, _ query: QueryID, _ range: Range<Int> = 0..<20
    ) async throws -> Seen {
        let window = try #require(try await store.window(of: query, range))
        return Seen(version: window.contentVersion, ids: window.parts.flatMap { $0.content.ids.compactMap { $0 } })
    }

    /// Reads until the replica has noticed the loss. Each read has the lost version or the present one. The replica knows
    /// the rows of page two from the lost version, and reads only page one until then.
    private func expect(
        _ reader: PostgreSQLPageStore, _ query: QueryID, lost: Seen, now: Seen
    ) async throws {
        let end = ContinuousClock.now + CheckedLists.trust + .seconds(120)
        while ContinuousClock.now < end {
            let found = try await read(reader, query, 0..<10)
            #expect(found.version == lost.version || found.version == now.version)
            #expect(found.ids == Array(now.ids.prefix(10)))
            if found.version == now.version { break }
        }
        // Only with notices are known rows used without a request.
        while reader.changeCount(of: query) == nil, ContinuousClock.now < end {
            _ = try await reader.server.read((SQL("SELECT pg_sleep(0.01)"), []))
        }
        for _ in 0..<2 { _ = try await read(reader, query, 0..<10) }
        let second = try await read(reader, query, 10..<20)
        #expect(second == Seen(version: now.version, ids: Array(now.ids.suffix(10))))
        let whole = try await read(reader, query)
        #expect(whole == now)
    }

    @Test("After an immediate stop that lost acknowledged commits, the stamp tells the versions of one counter apart")
    func immediateStop() async throws {
        // The server writes its log within 600 ms of a commit, and a slow machine stops it later than that.
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM SET wal_writer_delay = '10s'")
            try await pool.run("SELECT pg_reload_conf()")
        }
        let (reader, writer) = (try await open(hasCopy: true), try await open(hasCopy: false))
        let query = try await writer.register("list").id
        try await replace(writer, query, 0..<10)
        var repeated = 0
        for round in 1...12 {
            // Flushes what is there.
            try await writer.server.flush()
            let kept = try await read(writer, query)
            try await replace(reader, query, round * 100..<round * 100 + 10)
            let lost = try await read(reader, query)
            await reader.copy?.file.waitUntilStored()
            #expect(try await read(reader, query) == lost)
            #expect(await OwnServer.end(of: try OwnServer.beginRestart("immediate")) == 0)
            let found = try await read(writer, query)
            // The log may have been written in time.
            guard found == kept else { continue }
            try await replace(writer, query, round * 100 + 50..<round * 100 + 60)
            let now = try await read(writer, query)
            #expect(now.version.counter == lost.version.counter)
            #expect(now.version != lost.version)
            try await expect(reader, query, lost: lost, now: now)
            repeated += 1
            if repeated == 3 { break }
        }
        print("local copy: \(repeated) counters came again after an immediate stop")
        #expect(repeated > 0)
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM RESET wal_writer_delay")
            try await pool.run("SELECT pg_reload_conf()")
        }
        await reader.close()
        await writer.close()
    }

    @Test("After a failover to a standby that was behind, the stamp tells the versions of one counter apart")
    func failover() async throws {
        let primary = try #require(OwnServer.directory)
        let standby = "/tmp/pagecache-" + UUID().uuidString.prefix(8)
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["standby", standby, primary])) == 0)
        let variables = try OwnServer.variables(in: standby + "/env")
        let other = try #require(variables["PAGECACHE_TEST_POSTGRES"])
        let port = other.split(separator: ":").last!.split(separator: "/")[0]
        let both =
            "postgres://pagecache@127.0.0.1:\(OwnServer.port),127.0.0.1:\(port)/pagecache?target_session_attrs=read-write"
        let (reader, writer) = (try await open(at: both, hasCopy: true), try await open(at: both, hasCopy: false))
        let query = try await writer.register("list").id
        try await replace(writer, query, 0..<10)
        try await withPool(other) { pool in
            try await pool.wait(for: "SELECT count(*) = 2 FROM \(self.schema).page WHERE revision = 0")
        }
        // From here on the standby gets nothing.
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["stop", standby])) == 0)
        try await replace(reader, query, 100..<110)
        let lost = try await read(reader, query)
        await reader.copy?.file.waitUntilStored()
        #expect(try await read(reader, query) == lost)
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["crash", primary])) == 0)
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["restart", standby])) == 0)
        // Without a checkpoint: the new timeline is not in the control file yet.
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["promote", standby])) == 0)
        try await replace(writer, query, 200..<210)
        let now = try await read(writer, query)
        #expect(now.version.counter == lost.version.counter)
        #expect(now.version != lost.version)
        try await expect(reader, query, lost: lost, now: now)
        await reader.close()
        await writer.close()
        _ = await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["stop", standby]))
        try FileManager.default.removeItem(atPath: standby)
        _ = await OwnServer.end(of: try OwnServer.beginRestart("fast"))
    }

    @Test(
        "While the server is away, a read says so once the last comparison is too old, and serves no copy of unknown age"
    )
    func away() async throws {
        let primary = try #require(OwnServer.directory)
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(5)
        options.localCopy = PostgreSQLPageStore.LocalCopy(path: "\(folder.path)/copy.sqlite")
        let store = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        let query = try await store.register("list").id
        try await replace(store, query, 0..<10)
        let before = try await read(store, query)
        await store.copy?.file.waitUntilStored()
        #expect(await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["crash", primary])) == 0)
        let end = ContinuousClock.now + CheckedLists.trust + .seconds(120)
        var failure: StorageError.Code?
        while failure == nil, ContinuousClock.now < end {
            do throws(StorageError) {
                let window = try await store.window(of: query, 0..<10)
                #expect(window?.contentVersion == before.version)
            } catch {
                failure = error.code
            }
        }
        #expect(failure == .unavailable || failure == .busy)
        #expect(await OwnServer.end(of: try OwnServer.beginRestart("fast")) == 0)
        await store.close()
    }

    @Test("A purge that no synchronous standby confirms ends with the budget, and says so")
    func purgeWithoutStandby() async throws {
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(60)
        let preparing = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        let query = try await preparing.register("list").id
        try await replace(preparing, query, 0..<10)
        let kept = try await preparing.register("kept").id
        await preparing.close()
        options.busyBudget = .seconds(5)
        let store = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        try await withPool { try await $0.demandStandby(probing: "unconfirmed") }
        let began = ContinuousClock.now
        do throws(StorageError) {
            _ = try await store.purge([query])
            Issue.record("no standby has confirmed the purge")
        } catch {
            #expect(error.code == .busy)
            #expect(error.message.contains("the server waits for its standby"), "\(error)")
        }
        #expect(ContinuousClock.now - began < .seconds(60))
        // The list is gone all the same.
        #expect(try await store.outline(of: query) == nil)
        // A durable commit is not acknowledged either.
        var durable = options
        durable.durability = .full
        let other = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: durable)
        let count = try #require(other.announcer.hub.changeCount(of: kept))
        do throws(StorageError) {
            let failure = FetchFailure(.transport, "away", isRetryable: true)
            try await other.record([.failed(offset: 0, failure: failure, nextAttemptIn: nil)], for: kept)
            Issue.record("no standby has confirmed the record")
        } catch {
            #expect(error.code == .busy)
        }
        // The record is made, so that it counts as a change.
        #expect(try #require(other.announcer.hub.changeCount(of: kept)) > count)
        do throws(StorageError) {
            _ = try await other.register("second")
            Issue.record("no standby has confirmed the registration")
        } catch {
            #expect(error.code == .busy)
        }
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM RESET synchronous_standby_names")
            try await pool.run("SELECT pg_reload_conf()")
        }
        await store.close()
        await other.close()
    }
}
#endif
