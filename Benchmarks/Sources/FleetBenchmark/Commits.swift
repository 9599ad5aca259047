import Measuring
import PostgresPageStore
import SideBySide

/// Pages that are claimed, fetched in no time, and committed with the claim of the next page.
enum Commits {
    static let items = 50

    static func run(_ address: String, clients: Int, seconds: Double) async throws {
        try await withStore(address, { $0.connections = max(4, clients) }) { store in
            let rate = try await rate(clients: clients, seconds: seconds) { client, end in
                try await append(to: store, "list \(client)", pages: .max, until: end)
            }
            say("claim + commit of a page, \(clients) clients", unit: "1/s", rate)
        }
    }

    /// A few commits, whose statements the server logs.
    static func once(_ address: String, schema: String) async throws {
        try await withStore(address, schema: schema, { $0.connections = 1 }) { store in
            _ = try await append(to: store, "list", pages: 5, until: .now + .seconds(60))
        }
    }

    private static func append(
        to store: PostgreSQLPageStore, _ key: String, pages: Int, until end: ContinuousClock.Instant
    ) async throws -> Int {
        let material = Material()
        let record = try await store.register(QueryKey(key))
        var token = try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id).leases.first?.token
        var done = 0
        while done < pages, ContinuousClock.now < end {
            let offset = done * items
            let write = PageWrite(offset: offset, content: material.content(done), evidence: .inferred)
            let plan = CommitPlan(
                query: record.id, version: record.version, edits: [.insertPage(write)],
                ledger: [.succeeded(offset: offset, lease: token)])
            let next = LeaseRequest([offset + items], for: .seconds(600))
            let receipt = try await store.commit(plan, claiming: next)
            guard case .committed = receipt.outcome else { throw Unexpected("expected: a commit, \(receipt.outcome)") }
            token = receipt.grant?.leases.first?.token
            done += 1
        }
        return done
    }
}

/// Leases in requests of 16 pages.
enum Leases {
    static func run(_ address: String, clients: Int, seconds: Double) async throws {
        try await withStore(address, { $0.connections = max(4, clients) }) { store in
            let rate = try await rate(clients: clients, seconds: seconds) { client, end in
                let query = try await store.register(QueryKey("list \(client)")).id
                var done = 0
                while ContinuousClock.now < end {
                    let offsets = (done..<done + 16).map { $0 * 50 }
                    done += try await store.claim(LeaseRequest(offsets, for: .seconds(600)), of: query).leases.count
                }
                return done
            }
            say("leases, batched by 16, \(clients) clients", unit: "1/s", rate)
        }
    }
}
