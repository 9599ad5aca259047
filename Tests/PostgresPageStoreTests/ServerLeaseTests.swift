#if PostgreSQL
import Foundation
import PageModel
import StorageSupport
import Synchronization
import Testing

@testable import PostgresPageStore

/// Leases of replicas that close, die, are cancelled, or forget them after a failover.
@Suite("Leases of replicas on one server", .enabled(if: TestServer.isThere))
struct ServerLeaseTests {
    @Test("The leases of a replica that closed are free at once, and its tokens are lost")
    func closed() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let query = try await first.register("list").id
        let request = LeaseRequest([0], for: .seconds(600))
        let old = try #require(try await first.claim(request, of: query).leases.first?.token)
        #expect(try await second.claim(request, of: query).leases == [])
        let owners = Set(try #require(try await second.outline(of: query)).ledger.compactMap(\.leaseOwner))
        #expect(owners.count == 1)
        #expect(try await second.endedOwners(owners) == [])
        await first.close()
        #expect(try await second.endedOwners(owners) == owners)
        let new = try #require(try await second.claim(request, of: query).leases.first?.token)
        #expect(new > old)
        #expect(try await second.record([.succeeded(offset: 0, lease: old)], for: query) == [old])
    }

    @Test("A lease counts only while the row of its replica does")
    func dead() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let query = try await first.register("list").id
        let request = LeaseRequest([0], for: .seconds(600))
        _ = try await first.claim(request, of: query)
        // The replica stopped renewing its row.
        try await schema.run("UPDATE \(schema.name).owner SET alive_until = clock_timestamp() - interval '1 second'")
        #expect(try await second.claim(request, of: query).leases.count == 1)
        #expect(try await first.claim(request, of: query).leases == [])
    }

    @Test("A lease stays void when the heartbeat of its replica resumes, and counts after its owner renews it")
    func late() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let query = try await first.register("list").id
        let owner = LeaseOwner("owner")
        let token = try #require(
            try await first.claim(LeaseRequest([0], for: .seconds(600), by: owner), of: query).leases.first?.token)
        _ = try await first.claim(LeaseRequest([10], for: .seconds(600), by: owner), of: query)
        let expire = "UPDATE \(schema.name).owner SET alive_until = clock_timestamp() - interval '1 second'"
        try await schema.run(expire)
        await first.liveness.renew()
        let others = LeaseRequest([10], for: .seconds(600))
        #expect(try await second.claim(others, of: query).offsets == [10])
        #expect(try await first.heartbeat(owner, for: .seconds(600)) == [token])
        #expect(try await second.claim(LeaseRequest([0], for: .seconds(600)), of: query).leases == [])
        await first.close()
        await second.close()
    }

    @Test("A replica whose connections wait for a locked list renews its heartbeat")
    func blocked() async throws {
        let schema = try Schema()
        var options = schema.options
        options.connections = 1
        options.busyBudget = .seconds(300)
        let store = try await PostgreSQLPageStore.open(schema.address, options: options)
        let (locked, other) = (try await store.register("locked").id, try await store.register("other").id)
        _ = try await store.claim(LeaseRequest([0], for: .seconds(600)), of: other)
        let locking = Task {
            _ = try? await schema.run(
                "BEGIN", "SELECT 1 FROM \(schema.name).query WHERE id = \(locked.rawValue) FOR UPDATE",
                "SELECT pg_sleep(600) /* \(schema.name) */")
        }
        let others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE"
        let sleeper = "\(others) '%pg_sleep(600) /* \(schema.name)%' AND state = 'active'"
        try await withPool(schema.address) { observer in
            try await observer.wait(for: "SELECT count(*) = 1 \(sleeper)")
            let claim = Task { try await store.claim(LeaseRequest([0], for: .seconds(600)), of: locked).offsets }
            try await observer.wait(
                for: "SELECT count(*) = 1 \(others) '%\(schema.name)%' AND wait_event_type = 'Lock'")
            // As a third of the lease later.
            try await observer.run(
                "UPDATE \(schema.name).owner SET alive_until = clock_timestamp() + interval '1 minute'")
            await store.liveness.renew()
            let alive = try await observer.run(
                "SELECT alive_until > clock_timestamp() + interval '2 minutes' FROM \(schema.name).owner")
            #expect(alive.bool(0, 0) == true)
            #expect(try await observer.run("SELECT count(*) = 1 \(sleeper)").bool(0, 0) == true)
            try await observer.run("SELECT pg_cancel_backend(pid) \(sleeper)")
            #expect(try await claim.value == [0])
        }
        await locking.value
        await store.close()
    }

    @Test("A replica whose heartbeat has expired renews it before it takes a lease", arguments: [false, true])
    func renewedFirst(byCommit: Bool) async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let query = try await first.register("list")
        let request = LeaseRequest([0], for: .seconds(600))
        _ = try await first.claim(LeaseRequest([10], for: .seconds(600)), of: query.id)
        // As after a wait of seconds for the lock of the list.
        try await schema.run("UPDATE \(schema.name).owner SET alive_until = clock_timestamp() - interval '1 second'")
        if byCommit {
            let plan = CommitPlan(query: query.id, version: query.version, edits: [])
            #expect(try await first.commit(plan, claiming: request).grant?.leases == [])
        }
        #expect(try await first.claim(request, of: query.id).offsets == [0])
        #expect(try await second.claim(request, of: query.id).leases == [])
        await first.close()
        await second.close()
    }

    @Test("A lease that its owner ended and a failover brought back ends at the second look, and no other one does")
    func forgotten() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        let held = try #require(
            try await store.claim(LeaseRequest([0], for: .seconds(600)), of: query).leases.first?.token)
        let ended = try #require(
            try await store.claim(LeaseRequest([10], for: .seconds(600)), of: query).leases.first?.token)
        try await schema.run("CREATE TABLE public.\(schema.name)_ledger AS SELECT * FROM \(schema.name).ledger")
        try await store.record([.released(offset: 10, lease: ended)], for: query)
        // The standby has the row of before.
        try await schema.run(
            "DELETE FROM \(schema.name).ledger",
            "INSERT INTO \(schema.name).ledger SELECT * FROM public.\(schema.name)_ledger",
            "DROP TABLE public.\(schema.name)_ledger")
        let other = try await schema.open()
        let request = LeaseRequest([0, 10], for: .seconds(600))
        let stored: Set = [held.rawValue, ended.rawValue]
        await store.liveness.endOrphaned(stored)
        #expect(try await other.claim(request, of: query).leases == [])
        // A request whose answer is under way may own it.
        store.liveness.grantsUnderWay.add(1, ordering: .relaxed)
        await store.liveness.endOrphaned(stored)
        #expect(try await other.claim(request, of: query).leases == [])
        store.liveness.grantsUnderWay.subtract(1, ordering: .relaxed)
        await store.liveness.endOrphaned(stored)
        #expect(try await other.claim(request, of: query).offsets == [10])
        #expect(try await store.record([.succeeded(offset: 0, lease: held)], for: query) == [])
        await store.close()
        await other.close()
    }

    @Test("A cancelled task still releases its leases and reads, as with a store in a file")
    func cancelled() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        let token = try #require(
            try await store.claim(LeaseRequest([0], for: .seconds(600)), of: query).leases.first?.token)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(Task.isCancelled)
            try await store.record([.released(offset: 0, lease: token)], for: query)
            return try await store.window(of: query, 0..<10)?.parts.count
        }
        #expect(try await task.value == 0)
        #expect(try await store.outline(of: query)?.ledger.contains { $0.state == .inFlight } == false)
        await store.close()
    }

    @Test("The rows of the tables are counted, and the dead ones among them")
    func rowCounts() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        _ = try await store.register("list")
        let names = try await store.rowCounts().map(\.table)
        #expect(names.contains("page") && names.contains("ledger") && names.contains("query"))
        #expect(try await store.rowCounts().allSatisfy { $0.live >= 0 && $0.dead >= 0 })
        await store.close()
    }
}
#endif
