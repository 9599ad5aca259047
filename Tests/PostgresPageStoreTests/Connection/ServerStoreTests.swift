#if PostgreSQL && canImport(Glibc)
import PageModel
import StorageSupport
import Testing

@testable import PostgresPageStore

/// Stores whose connections break, or lead through a pooler.
extension ServerTests {
    private func options(schema: String) -> PostgreSQLPageStore.Options {
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(120)
        options.listensAtOnce = false
        return options
    }

    @Test("A commit whose connection is cut after any of its messages is made once, with its lease", arguments: 1...4)
    func cut(message: Int) async throws {
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        var options = options(schema: "cut_\(message)")
        options.connections = 1
        let store = try await PostgreSQLPageStore.open(
            "host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable", options: options)
        // Nothing but the calls sends messages.
        store.announcer.close()
        let record = try await store.register("list")
        let lease = try #require(
            try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id).leases.first)
        let write = PageWrite(offset: 0, content: items(0..<10), evidence: .inferred)
        let plan = CommitPlan(
            query: record.id, version: record.version, edits: [.insertPage(write)],
            ledger: [.succeeded(offset: 0, lease: lease.token)])
        // The first message locks and reads, and the second one writes and commits. The next ones are those of the reads below.
        proxy.cut(afterMessages: message)
        let receipt = try await store.commit(plan, claiming: LeaseRequest([10], for: .seconds(600)))
        #expect(receipt.outcome == .committed(record.version))
        #expect(receipt.grant?.leases.map(\.offset) == [10])
        let list = try #require(try await store.outline(of: record.id))
        #expect(list.pages.count == 1)
        #expect(list.contentVersion.counter == record.contentVersion.counter + 1)
        let window = try #require(try await store.window(of: record.id, 0..<10))
        #expect(window.parts.map(\.content) == [items(0..<10)])
        #expect(try await store.verify().findings == [])
        await store.close()
        proxy.close()
    }

    @Test(
        "Replicas behind a pooler in transaction mode exclude each other, and learn of changes",
        .timeLimit(.minutes(20)),
        .enabled(if: OwnServer.hasPgBouncer, "PAGECACHE_TEST_PGBOUNCER is not set"))
    func replicasBehindPooler() async throws {
        let pooler = try #require(OwnServer.pgBouncer)
        var options = options(schema: "behind_pooler")
        options.pollInterval = .milliseconds(20)
        let first = try await PostgreSQLPageStore.open(pooler, options: options)
        let second = try await PostgreSQLPageStore.open(pooler, options: options)
        let record = try await first.register("list")
        let request = LeaseRequest([0], for: .seconds(600))
        let token = try #require(try await first.claim(request, of: record.id).leases.first?.token)
        #expect(try await second.claim(request, of: record.id).leases.isEmpty)
        var notices = second.notices(of: record.id).makeAsyncIterator()
        // Several commits, because the first comparison may come after the first one.
        let committing = Task {
            for number in 0..<1_000 where !Task.isCancelled {
                let range = number * 10..<number * 10 + 10
                let write = PageWrite(offset: range.lowerBound, content: items(range), evidence: .inferred)
                let plan = CommitPlan(
                    query: record.id, version: record.version, edits: [.insertPage(write)],
                    ledger: number == 0 ? [.succeeded(offset: 0, lease: token)] : [])
                guard case .committed = try await first.commit(plan) else { return false }
            }
            return true
        }
        while let notice = await notices.next(isolation: #isolation) {
            guard case .invalidated = notice else { continue }
            if try await second.outline(of: record.id)?.pages.isEmpty == false { break }
        }
        committing.cancel()
        // A cancelled commit may throw.
        #expect((try? await committing.value) != false)
        #expect(try await second.verify().findings == [])
        await first.close()
        await second.close()
    }
}
#endif
