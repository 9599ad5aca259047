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
        await first.close()
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

    @Test("A lease stays void when its replica shows a sign of life again, and counts after a heartbeat")
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
        await first.liveness.renew(on: first.server)
        let others = LeaseRequest([10], for: .seconds(600))
        #expect(try await second.claim(others, of: query).offsets == [10])
        #expect(try await first.heartbeat(owner, for: .seconds(600)) == [token])
        #expect(try await second.claim(LeaseRequest([0], for: .seconds(600)), of: query).leases == [])
        await first.close()
        await second.close()
    }

    @Test("A replica whose sign of life has passed renews it before it takes a lease", arguments: [false, true])
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
        await store.liveness.endOrphaned(stored, on: store.server)
        #expect(try await other.claim(request, of: query).leases == [])
        // A request whose answer is under way may own it.
        store.liveness.grantsUnderWay.add(1, ordering: .relaxed)
        await store.liveness.endOrphaned(stored, on: store.server)
        #expect(try await other.claim(request, of: query).leases == [])
        store.liveness.grantsUnderWay.subtract(1, ordering: .relaxed)
        await store.liveness.endOrphaned(stored, on: store.server)
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
