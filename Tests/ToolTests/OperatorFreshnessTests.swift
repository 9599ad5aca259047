#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// How old is too old: the origin's word, the operator's, and that of those who know better.
@Suite("pagecache and the age of lists")
struct OperatorFreshnessTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", folder.store])
    }

    /// A list of ten items in a store, of which the origin, that nobody can reach, said for how long it is fresh.
    private func store(freshFor: Duration?, age: Duration, invalidated: Bool = false) async throws -> String {
        let store = try await PageStore.openForTest(at: folder.store)
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let key = QueryKey("http://127.0.0.1:1/items")
        let record = try await store.register(key, at: now)
        let edits: [ListEdit] = [
            .put(PageWrite(offset: 0, content: items(0..<10), evidence: .verified)), .setTotal(.exact(10)), .setEnd(10),
            .validated,
            .setFreshFor(freshFor),
        ]
        let outcome = try await store.commit(
            CommitPlan(query: record.id, version: record.version, edits: edits), at: now + (.zero - age))
        guard case .committed(let version) = outcome else {
            Issue.record("it was not committed: \(outcome)")
            return key.shortID
        }
        if invalidated {
            _ = try await store.commit(CommitPlan(query: record.id, version: version, edits: [.invalidated]), at: now)
        }
        try await store.setPinned(true, record.id)
        await store.close()
        return key.shortID
    }

    @Test(
        "how long a list is fresh is the origin's word, unless the operator has one; what was invalidated is stale",
        arguments: [
            (.seconds(3_000), .seconds(600), false, "fresh", false), (.seconds(30), .seconds(40), false, "stale", true),
            (nil, .seconds(600), false, "stale", true), (.seconds(3_000), .seconds(600), true, "stale", true),
        ] as [(Duration?, Duration, Bool, String, Bool)])
    func freshness(freshFor: Duration?, age: Duration, invalidated: Bool, freshness: String, isDue: Bool) async throws {
        let id = try await store(freshFor: freshFor, age: age, invalidated: invalidated)
        let list = try #require(try await tool(["list", "--json"]).jsonArray.first)
        #expect(list["freshness"] as? String == freshness)
        #expect(list["fresh_for_ms"] as? Int == freshFor.map { Int($0.wholeMilliseconds) })
        #expect((list["invalidated_at"] is String) == invalidated)
        #expect(try await tool(["pages", id, "--json"]).jsonArray.first?["freshness"] as? String == freshness)
        #expect(try await tool(["pages", id, "--map", "--json"]).jsonArray.first?["state"] as? String == freshness)
        #expect(try await tool(["why", id]).output.contains("It is \(freshness): "))
        #expect(try await tool(["why", id]).output.contains("is not right any more") == invalidated)
        let doomed = try await tool(["purge", "--stale", "--dry-run", "--json"]).json["queries"] as? Int
        #expect(doomed == (freshness == "stale" ? 1 : 0))
        // The operator's word wins, over that of the origin and not over what somebody knows better.
        let own =
            try await tool(["purge", "--stale", "--stale-after", "300s", "--dry-run", "--json"]).json["queries"] as? Int
        #expect(own == (age >= .seconds(300) || invalidated ? 1 : 0))
        #expect(try await tool(["sync", "--due", "--stale-after", "2h", "--json"]).jsonArray.isEmpty == !invalidated)
        // Nobody answers; but that it was tried says that it was due.
        guard !invalidated else { return }
        #expect(try await tool(["sync", "--due", "--json"]).jsonArray.isEmpty == !isDue)
    }

    @Test(
        "R13: sync of a list that is young enough for --stale-after asks nobody; what is missing is fetched all the same"
    )
    func staleAfter() async throws {
        let origin = DemoOrigin(count: 1_000)
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items", "--max-pages", "3", "--overlap", "0"]).status == 0)
            let before = origin.requests.count
            let rest = try await tool(["sync", "\(root)/items", "--stale-after", "1h", "--overlap", "0", "--json"])
            #expect(rest.json["outcome"] as? String == "complete")
            #expect(origin.requests.count == before + 7)
            #expect(
                !origin.requests.dropFirst(before).contains { !$0.contains("offset=") || $0.contains("offset=0") },
                "page one is young enough")
            let again = try await tool(["sync", "\(root)/items", "--stale-after", "1h", "--json"])
            #expect(again.status == 0)
            #expect(again.json["outcome"] as? String == "complete")
            #expect(again.json["requests"] as? Int == 0)
            #expect(origin.requests.count == before + 7)
            #expect(
                try await tool(["sync", "\(root)/items", "--stale-after", "0s", "--json"]).json["reconciliation"]
                    as? String == "unchanged")
            #expect(origin.requests.count == before + 8)
            #expect(try await tool(["sync", "\(root)/items", "--stale-after", "1h", "--sweep"]).status == 64)
        }
    }
}
#endif
