#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// The age at which a list is stale: set by the origin, by the operator, or by an invalidation.
@Suite("pagecache and the age of lists")
struct OperatorFreshnessTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", folder.store])
    }

    /// Creates a pinned list of ten items with this freshness lifetime and age. Its origin is unreachable.
    private func store(freshFor: Duration?, age: Duration, invalidated: Bool = false) async throws -> String {
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let key = QueryKey("http://127.0.0.1:1/items")
        let record = try await store.register(key, at: now)
        let edits: [ListEdit] = [
            .insertPage(PageWrite(offset: 0, content: items(0..<10), evidence: .verified)), .setTotal(.exact(10)),
            .setEnd(10),
            .validated,
            .setFreshFor(freshFor),
        ]
        let outcome = try await store.commit(
            CommitPlan(query: record.id, version: record.version, edits: edits), at: now + (.zero - age))
        guard case .committed(let version) = outcome else {
            Issue.record("the list was not committed: \(outcome)")
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
        "The freshness lifetime comes from the origin unless the operator sets one, and an invalidated list is stale",
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
        #expect(try await tool(["why", id]).output.contains("The list is \(freshness): "))
        #expect(try await tool(["why", id]).output.contains("invalidated the list") == invalidated)
        let doomed = try await tool(["purge", "--stale", "--dry-run", "--json"]).json["queries"] as? Int
        #expect(doomed == (freshness == "stale" ? 1 : 0))
        // The operator's age takes precedence over the origin's lifetime, but not over an invalidation.
        let own =
            try await tool(["purge", "--stale", "--stale-after", "300s", "--dry-run", "--json"]).json["queries"] as? Int
        #expect(own == (age >= .seconds(300) || invalidated ? 1 : 0))
        #expect(try await tool(["sync", "--due", "--stale-after", "2h", "--json"]).jsonArray.isEmpty == !invalidated)
        // The origin does not answer, but an attempt shows that the list was due.
        guard !invalidated else { return }
        #expect(try await tool(["sync", "--due", "--json"]).jsonArray.isEmpty == !isDue)
    }

    @Test("oldest_check_at is the age of the oldest held page, however young page one is")
    func oldestCheck() async throws {
        let id = try await store(freshFor: nil, age: .seconds(600))
        let first = try #require(try await tool(["list", "--json"]).jsonArray.first)
        let checkedAt = try #require(first["oldest_check_at"] as? String)
        #expect(first["validated_at"] as? String == checkedAt)
        // The list was confirmed since, and none of its pages was requested.
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let record = try #require(try await store.query(QueryKey("http://127.0.0.1:1/items")))
        _ = try await store.commit(
            CommitPlan(query: record.id, version: record.version, edits: [.validated]),
            at: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)))
        await store.close()
        let list = try #require(try await tool(["list", "--json"]).jsonArray.first)
        #expect(list["oldest_check_at"] as? String == checkedAt)
        #expect(list["validated_at"] as? String != checkedAt)
        #expect(try await tool(["info", id, "--json"]).json["oldest_check_at"] as? String == checkedAt)
        let sync = try await tool(["sync", record.key.text, "--wait", "0s", "--json"]).json
        #expect(sync["oldest_check_at"] as? String == checkedAt)
    }

    @Test("last_audit_at is null until a sweep has ended, and stays at its end after further syncs")
    func lastAudit() async throws {
        let origin = DemoOrigin(count: 300)
        try await withOrigin(origin) { root in
            func audit(_ arguments: [String]) async throws -> String? {
                let ended = try await tool(["sync", "\(root)/items"] + arguments + ["--json"])
                #expect(ended.status == 0 && ended.json["last_audit_at"] != nil, "the member is always present")
                let list = try #require(try await tool(["list", "--json"]).jsonArray.first)
                let id = try #require(list["query"] as? String)
                let shown = ended.json["last_audit_at"] as? String
                #expect(list["last_audit_at"] as? String == shown)
                #expect(try await tool(["info", id, "--json"]).json["last_audit_at"] as? String == shown)
                return shown
            }
            #expect(try await audit([]) == nil)
            let ended = try #require(try await audit(["--sweep"]))
            #expect(try await audit([]) == ended)
        }
    }

    @Test("sync with --stale-after skips page one of a young list, and fetches its missing pages (R13)")
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
