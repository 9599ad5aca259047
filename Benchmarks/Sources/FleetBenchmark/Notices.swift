import Foundation
import Measuring
import PostgresPageStore

#if canImport(Glibc)
import Glibc
#endif

/// The time from a commit to its notice at another replica.
enum Notices {
    static func run(_ address: String, rounds: Int) async throws {
        try await measure(address, rounds, "a change is seen by another replica", pollInterval: .seconds(1))
        // A pooler in transaction mode may deliver notices or not. Without them versions are compared.
        if let pooler = ProcessInfo.processInfo.environment["PAGECACHE_TEST_PGBOUNCER"] {
            try await measure(
                pooler, rounds / 10, "the same through PgBouncer, versions compared every 100 ms",
                pollInterval: .milliseconds(100))
        }
    }

    private static func measure(_ address: String, _ rounds: Int, _ what: String, pollInterval: Duration) async throws {
        let schema = newSchema()
        try await withStore(address, schema: schema) { writer in
            try await withStore(address, schema: schema, { $0.pollInterval = pollInterval }) { reader in
                let key = QueryKey("list")
                let query = try await writer.register(key).id
                var notices = reader.notices(of: query).makeAsyncIterator()
                try await Task.sleep(for: .seconds(1))
                var samples = Samples()
                for round in 0..<rounds {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 5..<25)))
                    let word = "\(round)"
                    guard let record = try await writer.query(key) else { throw Unexpected("expected: the list") }
                    let plan = CommitPlan(
                        query: query, version: record.version, edits: [.describe(paging: word, source: "")])
                    let begin = ContinuousClock.now
                    _ = try await writer.commit(plan)
                    // The state counts, not the notice: an earlier one may still be under way.
                    while try await reader.query(key)?.paging != word {
                        _ = await notices.next(isolation: #isolation)
                    }
                    samples.add(ContinuousClock.now - begin)
                }
                say(
                    what, unit: "ms", samples.median / 1_000, p95: samples.percentile(0.95) / 1_000,
                    p99: samples.percentile(0.99) / 1_000)
            }
        }
    }
}

/// A replica that observes lists and does nothing.
enum Idle {
    static func run(_ address: String, seconds: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copied: (inout PostgreSQLPageStore.Options) -> Void = {
            $0.localCopy = PostgreSQLPageStore.LocalCopy(path: "\(folder)/copy.sqlite")
        }
        try await withStore(address, copied) { store in
            let record = try await store.register("list")
            // A lease makes the replica renew its heartbeat.
            _ = try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id)
            let notices = store.notices(of: nil)
            let watching = Task { for await _ in notices {} }
            try await Task.sleep(for: .seconds(2))
            // The driver counts the transactions of the server between these lines.
            print("idle begins")
            fflush(nil)
            let before = processorSeconds()
            try await Task.sleep(for: .seconds(seconds))
            let used = processorSeconds() - before
            print("idle ends")
            fflush(nil)
            watching.cancel()
            say("an idle replica: processor time", unit: "ms/s", used * 1_000 / Double(seconds))
        }
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
