#if PostgreSQL && canImport(Glibc)
import Glibc
import PageModel
import PostgresPageStore

/// One of several replicas on a server that fetch due pages until none is due. It prints each request to the origin
/// before it stores the page:
///
///     fetch LIST POSITION
///     wrong TEXT             a rule is broken
struct Drain {
    let store: PostgreSQLPageStore
    /// The pages that one request for leases names.
    private static let batch = 16
    /// The number of items of a page.
    private static let pageSize = 3

    static func run(_ arguments: [String]) async throws {
        var options = PostgreSQLPageStore.Options()
        options.schema = String(cString: getenv("PAGECACHE_SCHEMA"))
        options.connections = 2
        options.busyBudget = .seconds(60)
        let drain = Drain(store: try await PostgreSQLPageStore.open(arguments[2], options: options))
        // Sends the heartbeat, and then waits until all replicas have begun.
        let ready = try await drain.store.register(QueryKey("ready")).id
        _ = try await drain.store.claim(LeaseRequest([Int.random(in: 0..<1_000_000)], for: .seconds(5)), of: ready)
        let latest = ContinuousClock.now + .seconds(300)
        let go = String(cString: getenv("PAGECACHE_GO"))
        while access(go, F_OK) != 0, ContinuousClock.now < latest { usleep(1_000) }
        while true {
            let due = try await drain.store.due(within: .zero, limit: 1_024).fetches
            guard let query = due.randomElement()?.query else { break }
            let offsets = due.filter { $0.query == query }.map(\.entry.offset).shuffled().prefix(batch).sorted()
            try await drain.fetch(offsets, of: query)
        }
        await drain.store.close()
    }

    private func fetch(_ offsets: [Int], of query: QueryID) async throws {
        guard let first = offsets.first, let last = offsets.last else { return }
        let grant = try await store.claim(
            LeaseRequest(offsets, for: .seconds(600), includingOutline: first..<last + 1), of: query)
        guard let list = grant.list else { return }
        let held = Set(list.pages.map(\.offset))
        for lease in grant.leases {
            let end = LedgerEdit.succeeded(offset: lease.offset, lease: lease.token)
            // Another replica has stored the page since `due` returned it.
            guard !held.contains(lease.offset) else {
                try await store.record([end], for: query)
                continue
            }
            Drain.say("fetch \(query.rawValue) \(lease.offset)")
            let names = (0..<Drain.pageSize).map { "\(query.rawValue)-\(lease.offset + $0)" }
            let page = PageWrite(
                offset: lease.offset, content: PageContent(names.map(Replica.item)), evidence: .inferred)
            let plan = CommitPlan(
                query: query, version: list.record.version, edits: [.insertPage(page)], ledger: [end])
            let receipt = try await store.commit(plan, claiming: nil)
            guard case .committed = receipt.outcome, receipt.lostLeases.isEmpty else {
                Drain.say("wrong \(receipt)")
                continue
            }
        }
    }

    /// Prints a line at once.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }
}
#endif
