#if PostgreSQL
import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PostgresPageStore

/// How often each offset was granted, behind a mutex.
private final class Grants: Sendable {
    let counts = Mutex<[Int: Int]>([:])
}

/// Two or more store objects on one server, as replicas of a program are.
@Suite("Replicas on one server", .enabled(if: TestServer.isThere))
struct ServerFleetTests {
    private func page(_ offset: Int, _ range: Range<Int>) -> ListEdit {
        .insertPage(PageWrite(offset: offset, content: items(range), evidence: .inferred))
    }

    @Test("Another replica learns of a commit by a notice")
    func notice() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let query = try await first.register("list").id
        var notices = second.notices(of: query).makeAsyncIterator()
        // The first notice says that listening has begun.
        _ = await notices.next(isolation: #isolation)
        let version = ListVersion(generation: 1, revision: 0)
        #expect(
            try await first.commit(CommitPlan(query: query, version: version, edits: [page(0, 0..<10)]))
                == .committed(version))
        while let notice = await notices.next(isolation: #isolation) {
            guard case .invalidated(let queries) = notice else { continue }
            #expect(queries == [query])
            if try await second.outline(of: query)?.pages.count == 1 { break }
        }
        await first.close()
        await second.close()
    }

    @Test("A replica whose lists change all the time sends a notice every 15 ms at most")
    func noticePause() async throws {
        let schema = try Schema()
        var options = schema.options
        options.listensAtOnce = false
        let store = try await PostgreSQLPageStore.open(schema.address, options: options)
        let query = try await store.register("list").id
        var events = schema.pool.listen(store.announcer.channel).makeAsyncIterator()
        #expect(await events.next(isolation: #isolation) == .listening)
        let began = ContinuousClock.now
        for _ in 0..<20 {
            store.announcer.announceInvalidated([query])
            _ = await events.next(isolation: #isolation)
        }
        // The notice of the registration may be the first one, and the second one is then sent at any time.
        #expect(ContinuousClock.now - began >= .milliseconds(18 * 15))
        await store.close()
    }

    @Test("A commit is found without its notice, because its replica may die before it sends one")
    func lostNotice() async throws {
        let schema = try Schema()
        let first = try await schema.open()
        let second = try await schema.open(pollInterval: .milliseconds(20))
        let query = try await first.register("list").id
        var notices = second.notices(of: query).makeAsyncIterator()
        _ = await notices.next(isolation: #isolation)
        // The second replica compares the versions once before the commit.
        try await schema.run("SELECT pg_sleep(0.3)")
        first.announcer.close()
        let version = ListVersion(generation: 1, revision: 0)
        _ = try await first.commit(CommitPlan(query: query, version: version, edits: [page(0, 0..<10)]))
        while let notice = await notices.next(isolation: #isolation) {
            guard case .invalidated = notice else { continue }
            if try await second.outline(of: query)?.pages.count == 1 { break }
        }
        await first.close()
        await second.close()
    }

    @Test("A server that lost the newest list does not give its number to another list")
    func lostList() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let lost = try await first.register("lost").id
        // A standby that was behind knows neither the list nor the number.
        try await schema.run(
            "DELETE FROM \(schema.name).query", "ALTER SEQUENCE \(schema.name).query_id RESTART WITH 1")
        let other = try await second.register("other").id
        #expect(other != lost)
        let version = ListVersion(generation: 1, revision: 0)
        let outcome = try await first.commit(CommitPlan(query: lost, version: version, edits: [page(0, 0..<10)]))
        #expect(outcome == .superseded(ListVersion(generation: 0, revision: 0)))
        #expect(try await second.outline(of: other)?.pages.isEmpty == true)
        await first.close()
        await second.close()
    }

    @Test("A plan for positions that a failover lost is superseded, although another change of positions followed (R4)")
    func lostPositions() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open())
        let query = try await first.register("list").id
        var version = ListVersion(generation: 1, revision: 0)
        _ = try await first.commit(CommitPlan(query: query, version: version, edits: [page(0, 0..<10)]))
        for table in ["query", "page", "body", "journal"] {
            try await schema.run("CREATE TABLE public.\(schema.name)_\(table) AS SELECT * FROM \(schema.name).\(table)")
        }
        func insert(_ name: String, _ store: PostgreSQLPageStore) async throws -> ListVersion {
            let edit = ListEdit.splice(0..<0, PageWrite(offset: 0, content: items([name]), evidence: .verified))
            let outcome = try await store.commit(CommitPlan(query: query, version: version, edits: [edit]))
            guard case .committed(let moved) = outcome else { throw StorageError(.internal, "\(outcome)") }
            return moved
        }
        let lost = try await insert("lost", first)
        // The standby has the rows of before, and another replica moves its positions.
        for table in ["query", "page", "body", "journal"] {
            try await schema.run(
                "DELETE FROM \(schema.name).\(table)",
                "INSERT INTO \(schema.name).\(table) SELECT * FROM public.\(schema.name)_\(table)",
                "DROP TABLE public.\(schema.name)_\(table)")
        }
        let other = try await insert("other", second)
        version = lost
        #expect(other != lost)
        let outcome = try await first.commit(CommitPlan(query: query, version: lost, edits: [page(11, 11..<20)]))
        #expect(outcome == .superseded(other))
        await first.close()
        await second.close()
    }

    @Test("A statement that a limit of the server ends is reported as busy, and not as damaged")
    func statementTimeout() async throws {
        let schema = try Schema()
        await (try await schema.open()).close()
        let address = schema.address + (schema.address.contains("?") ? "&" : "?") + "options=-cstatement_timeout%3D3000"
        let store = try await PostgreSQLPageStore.open(address, mode: .mustExist, options: schema.options)
        let locking = Task {
            try? await schema.run(
                "BEGIN", "LOCK TABLE \(schema.name).query IN ACCESS EXCLUSIVE MODE", "SELECT pg_sleep(600)", "COMMIT")
        }
        try await withPool(schema.address) { pool in
            try await pool.wait(
                for: """
                    SELECT EXISTS (SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
                        AND relation = '\(schema.name).query'::regclass)
                    """)
        }
        do throws(StorageError) {
            _ = try await store.records()
            Issue.record("the table is locked")
        } catch {
            #expect(error.code == .busy, "\(error)")
        }
        _ = try await withPool(schema.address) { pool in
            try await pool.run(
                """
                SELECT pg_cancel_backend(pid) FROM pg_locks
                WHERE mode = 'AccessExclusiveLock' AND relation = '\(schema.name).query'::regclass
                """)
        }
        _ = await locking.value
        await store.close()
    }

    @Test("A store whose unique index was dropped is refused")
    func droppedKey() async throws {
        let schema = try Schema()
        await (try await schema.open()).close()
        try await schema.run("ALTER TABLE \(schema.name).page DROP CONSTRAINT page_place")
        await #expect(throws: StorageError.self) { try await schema.open() }
    }

    @Test("A page at the largest position of the type is reported as damage, and causes no crash")
    func largestPosition() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        let version = ListVersion(generation: 1, revision: 0)
        _ = try await store.commit(CommitPlan(query: query, version: version, edits: [page(0, 0..<10)]))
        try await schema.run("UPDATE \(schema.name).page SET start = 9223372036854775807")
        _ = try await store.damage(of: query, thoroughly: true)
        #expect(try await store.verify().findings != [])
        await store.close()
    }

    @Test("Two replicas that commit the same plan store it once; the other is superseded or agrees (R4, R6)")
    func race() async throws {
        let schema = try Schema()
        let stores = [try await schema.open(), try await schema.open(), try await schema.open()]
        let query = try await stores[0].register("list").id
        for round in 0..<20 {
            let version = try await stores[0].outline(of: query)!.record.version
            let plan = CommitPlan(
                query: query, version: version,
                edits: [
                    .splice(0..<0, PageWrite(offset: 0, content: items(["r\(round)"]), evidence: .verified))
                ])
            let outcomes = try await withThrowingTaskGroup(of: CommitOutcome.self) { group in
                for store in stores { group.addTask { try await store.commit(plan) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let made = outcomes.filter { if case .committed = $0 { true } else { false } }
            #expect(made.count == 1, "\(outcomes)")
        }
        let window = try #require(try await stores[1].window(of: query, 0..<100))
        #expect(window.parts.flatMap { $0.content.items.map(\.id) } == (0..<20).reversed().map { "r\($0)" })
        #expect(try await stores[2].verify().findings == [])
    }

    @Test("Eight replicas drain due pages, and no page is granted twice")
    func drain() async throws {
        let schema = try Schema()
        let stores = try await withThrowingTaskGroup(of: PostgreSQLPageStore.self) { group in
            for _ in 0..<8 { group.addTask { try await schema.open() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let query = try await stores[0].register("list").id
        let granted = Grants()
        let pages = 1_000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    var offset = number * 40
                    for _ in 0..<pages / 16 + 1 {
                        let offsets = (0..<16).map { (offset + $0) % pages }
                        let grant = try await store.claim(LeaseRequest(offsets, for: .seconds(600)), of: query)
                        granted.counts.withLock { granted in
                            for offset in grant.offsets { granted[offset, default: 0] += 1 }
                        }
                        offset += 16
                    }
                }
            }
            try await group.waitForAll()
        }
        let counts = granted.counts.withLock { $0 }
        #expect(counts.count == pages)
        #expect(counts.values.allSatisfy { $0 == 1 })
    }

    @Test("Connections that the server ends in the middle are made again, and every commit is applied once")
    func killed() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        let killer = Task {
            while !Task.isCancelled {
                _ = try? await schema.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%\(schema.name)%' AND random() < 0.5"
                )
            }
        }
        var expected = 0
        for number in 0..<60 {
            let version = try #require(try await store.outline(of: query)).record.version
            let plan = CommitPlan(
                query: query, version: version, edits: [page(number * 10, number * 10..<number * 10 + 10)])
            let outcome = try? await store.commit(plan)
            if outcome != nil { expected += 1 }
        }
        killer.cancel()
        _ = await killer.value
        let list = try #require(try await store.outline(of: query))
        #expect(list.pages.count >= expected)
        // One version for the registration, and one for each stored page: none was applied twice.
        #expect(list.contentVersion.counter == list.pages.count + 1)
        #expect(try await store.verify().findings == [])
    }

    @Test("A commit whose outcome is unknown is found by the number of its transaction and by its stamp")
    func unknown() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        let attempt = CommitAttempt()
        #expect(try await attempt.committed(query, on: store.server) == nil)
        let version = try #require(try await store.outline(of: query)).contentVersion
        let rows = try await schema.run("SELECT pg_current_xact_id()")[0]
        let number = try #require(rows.integer(0, 0))
        let moment = StorageMoment(ServerClock(now: 1))
        func changes(_ version: ContentVersion) -> ChangeSet {
            ChangeSet(query: query, version: nil, contentVersion: version, changes: [])
        }
        attempt.note(transaction: number, isVersioned: true, changes(version), moment: moment)
        #expect(try await attempt.committed(query, on: store.server) != nil)
        let other = ContentVersion(counter: version.counter, stamp: version.stamp &+ 1)
        attempt.note(transaction: number, isVersioned: true, changes(other), moment: moment)
        #expect(try await attempt.committed(query, on: store.server) == nil)
        attempt.note(transaction: number, isVersioned: false, changes(other), moment: moment)
        #expect(try await attempt.committed(query, on: store.server) != nil)
        // A number that this timeline has not reached.
        attempt.note(transaction: number + 1_000_000, isVersioned: false, changes(other), moment: moment)
        #expect(try await attempt.committed(query, on: store.server) == nil)
    }

    @Test(
        "Damaged rows are not used, are found, and are repaired",
        arguments: [
            "UPDATE @.page SET validated_at = validated_at + 1 WHERE start = 10",
            "UPDATE @.page SET start = start + 1 WHERE start = 20",
            "UPDATE @.page SET entity_tag = 'x', request = 'y' WHERE start = 10",
            "UPDATE @.body SET payload = set_byte(payload, 3, 33) WHERE id = 2",
            "UPDATE @.body SET keys[1] = keys[1] + 1 WHERE id = 2",
            "UPDATE @.query SET total = 7, total_kind = 'exact'",
            "UPDATE @.query SET holdings = NULL",
            "UPDATE @.journal SET stamp = stamp + 1 WHERE counter = 2",
            "DELETE FROM @.journal WHERE counter = 3",
            "UPDATE @.ledger SET attempts = -4 WHERE start = 0",
            "DELETE FROM @.body WHERE id = 1",
            "INSERT INTO @.access (query, body, used_at) VALUES (1, 77, 0)",
            "SELECT setval('@.lease_token', 9223372036854775807)",
            // The number of the next body is unknown, and that of a body has no successor.
            """
            WITH renumbered AS (UPDATE @.body SET id = 9223372036854775807 WHERE id = 2)
            UPDATE @.query SET created_at = created_at + 1
            """,
        ])
    func damage(change: String) async throws {
        let schema = try Schema()
        let store = try await schema.open(clock: ManualClock(noon))
        let query = try await store.register("list").id
        for start in [0, 10, 20] {
            let version = ListVersion(generation: 1, revision: 0)
            _ = try await store.commit(
                CommitPlan(
                    query: query, version: version, edits: [page(start, start..<start + 10)],
                    ledger: [.succeeded(offset: start)]))
        }
        #expect(try await store.verify().findings == [])
        try await schema.run(change.replacingOccurrences(of: "@", with: schema.name))
        #expect(try await store.verify().isSound == false)
        let report = try await store.repair()
        #expect(report.remaining.findings == [])
        let window = try #require(try await store.window(of: query, 0..<100))
        for part in window.parts {
            #expect(part.content == items(part.offset..<part.offset + 10), "served bytes are those that were stored")
        }
    }

    @Test("A large shift keeps every page, its seal and its lease")
    func shift() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        let start = ListVersion(generation: 1, revision: 0)
        let edits = (0..<200).map { page($0 * 20, $0 * 20..<$0 * 20 + 20) }
        let plan = CommitPlan(
            query: query, version: start, edits: edits, ledger: (0..<200).map { .succeeded(offset: $0 * 20) })
        #expect(try await store.commit(plan) == .committed(start))
        let token = try #require(
            try await store.claim(LeaseRequest([2_000], for: .seconds(60)), of: query).leases.first?.token)
        for name in ["a", "b"] {
            let version = try #require(try await store.outline(of: query)).record.version
            let head = PageWrite(offset: 0, content: items(["\(name)0"]), evidence: .verified)
            let outcome = try await store.commit(
                CommitPlan(query: query, version: version, edits: [.splice(0..<0, head)]))
            guard case .committed(let moved) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(moved.generation == 1 && moved.revision > version.revision)
        }
        #expect(try await store.verify().findings == [])
        let list = try #require(try await store.outline(of: query))
        #expect(list.coverage.segments == [0..<4_002])
        #expect(list.ledger.first { $0.leaseToken == token }?.offset == 2_002)
        #expect(try await store.record([.succeeded(offset: 2_000, lease: token)], for: query) == [])
    }
}
#endif
