#if PostgreSQL && canImport(Glibc)
import PageModel
import StorageSupport
import Testing

@testable import PostgresPageStore

/// A replica that the network separates from the server, and that returns.
extension ServerTests {
    @Test(
        "A replica that is cut off keeps its lease while its heartbeat counts, and is fenced when it returns (R30)",
        .timeLimit(.minutes(20)))
    func partition() async throws {
        let port = UInt16(OwnServer.port) ?? 0
        let proxy = try SilentProxy(port: port), secondProxy = try SilentProxy(port: port)
        secondProxy.holdConnections()
        var options = PostgreSQLPageStore.Options()
        options.schema = "cut_off"
        options.connections = 1
        options.busyBudget = .seconds(120)
        options.listensAtOnce = false
        options.ownerLease = .seconds(5)
        // The second way leads to the server once the network has recovered.
        let ways =
            "host=127.0.0.1,127.0.0.1 port=\(proxy.port),\(secondProxy.port) user=pagecache dbname=pagecache "
            + "sslmode=disable"
        let cutOff = try await PostgreSQLPageStore.open(ways, options: options)
        let other = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        let record = try await cutOff.register("list")
        let request = LeaseRequest([0], for: .seconds(600))
        let lost = try #require(try await cutOff.claim(request, of: record.id).leases.first?.token)
        #expect(try await other.claim(request, of: record.id).leases == [])

        proxy.dropAnswers()
        let token = try await withPool { pool async throws -> LeaseToken in
            let isOver = "SELECT alive_until <= clock_timestamp() FROM cut_off.owner WHERE name = $1"
            let name = Value.text(cutOff.liveness.name)
            while true {
                let before = try await pool.run(isOver, [name]).bool(0, 0)
                guard let token = try await other.claim(request, of: record.id).leases.first?.token else {
                    try await pool.pause(0.05)
                    continue
                }
                // The heartbeat may have expired between the two requests.
                if before != true {
                    let after = try await pool.run(isOver, [name]).bool(0, 0)
                    #expect(after == true, "the lease was taken over before its time")
                }
                return token
            }
        }
        #expect(token > lost)

        secondProxy.releaseConnections()
        proxy.close()
        let write = PageWrite(offset: 0, content: items(0..<10), evidence: .inferred)
        let plan = CommitPlan(
            query: record.id, version: record.version, edits: [.insertPage(write)],
            ledger: [.succeeded(offset: 0, lease: lost)])
        // The late page is stored (R4), and the fetch record stays that of the new holder.
        let receipt = try await cutOff.commit(plan, claiming: nil)
        #expect(receipt.outcome == .committed(record.version))
        #expect(receipt.lostLeases == [lost])
        let list = try #require(try await other.outline(of: record.id))
        #expect(list.ledger.map(\.leaseToken) == [token])
        #expect(try await other.record([.succeeded(offset: 0, lease: token)], for: record.id) == [])
        await cutOff.close()
        await other.close()
        secondProxy.close()
    }
}
#endif
