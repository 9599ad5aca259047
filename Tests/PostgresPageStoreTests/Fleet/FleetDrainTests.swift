#if PostgreSQL && Tool && canImport(Glibc)
import Foundation
import Glibc
import PageModel
import ProgramSupport
import StorageSupport
import Testing

@testable import PostgresPageStore

/// Due pages that eight processes fetch from one server (`StoreWorker/Drain.swift`).
@Suite("A fleet and its due pages", .serialized, .ownServer, .enabled(if: OwnServer.isPossible, OwnServer.isImpossible))
struct FleetDrainTests {
    private static let lists = 20
    private static let pages = 500
    private static let replicas = 8
    private let schema = "drain_" + UUID().uuidString.lowercased().filter { $0 != "-" }

    @Test("Eight processes fetch 10,000 due pages, each page once")
    func drain() async throws {
        let go = "/tmp/\(schema)"
        defer { unlink(go) }
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(60)
        options.timeLimit = .seconds(300)
        let store = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        let failure = FetchFailure(.transport, "away", isRetryable: true)
        var queries: [QueryID] = []
        for number in 0..<FleetDrainTests.lists {
            let query = try await store.register(QueryKey("due \(number)")).id
            let due = (0..<FleetDrainTests.pages).map {
                LedgerEdit.failed(offset: $0 * 3, failure: failure, nextAttemptIn: .zero)
            }
            try await store.record(due, for: query)
            queries.append(query)
        }
        let all = FleetDrainTests.lists * FleetDrainTests.pages
        #expect(try await store.due(within: .zero, limit: 2 * all).fetches.count == all)

        var environment = ProcessInfo.processInfo.environment
        environment["PAGECACHE_SCHEMA"] = schema
        environment["PAGECACHE_GO"] = go
        var replicas: [Program] = []
        for _ in 0..<FleetDrainTests.replicas {
            replicas.append(
                try await Program(
                    Program.built("StoreWorker"), ["drain", OwnServer.connectionString, "0"], environment: environment))
        }
        try await withPool { pool in
            try await pool.wait(for: "SELECT count(*) >= \(FleetDrainTests.replicas) FROM \(schema).owner")
        }
        let began = ContinuousClock.now
        try Data().write(to: URL(fileURLWithPath: go))
        var fetched: [String] = []
        var shares: [Int] = []
        for replica in replicas {
            let ended = try await replica.ended()
            #expect(ended.status == 0, "\(ended.output.suffix(300)) \(ended.errors)")
            let lines = ended.output.split(separator: "\n").map(String.init)
            let wrong = lines.filter { !$0.hasPrefix("fetch ") }
            #expect(wrong == [])
            shares.append(lines.count)
            fetched += lines
        }
        let seconds = (ContinuousClock.now - began) / Duration.seconds(1)
        print("fleet, due pages: \(all) by replicas with \(shares) in \(seconds) s, \(Double(all) / seconds) a second")
        #expect(fetched.count == all)
        #expect(Set(fetched).count == all, "a page was fetched twice")
        #expect(try await store.due(within: .zero, limit: 1).fetches == [])
        for query in queries {
            let list = try #require(try await store.outline(of: query))
            #expect(list.coverage.segments == [0..<FleetDrainTests.pages * 3])
        }
        #expect(try await store.verify().findings == [])
        await store.close()
    }
}
#endif
