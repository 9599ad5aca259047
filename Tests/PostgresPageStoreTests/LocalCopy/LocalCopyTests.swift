#if PostgreSQL
import Foundation
import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PostgresPageStore

extension Schema {
    /// Opens a replica with a local copy.
    func open(
        copyAt path: String, bytes: Int = 64 << 20, pollInterval: Duration = .milliseconds(50),
        trust: Duration = CheckedLists.trust, clock: (any StorageClock)? = nil
    ) async throws(StorageError) -> PostgreSQLPageStore {
        var options = options
        options.pollInterval = pollInterval
        options.trust = trust
        options.localCopy = PostgreSQLPageStore.LocalCopy(path: path, bytes: bytes)
        return try await PostgreSQLPageStore.open(address, options: options, clock: clock)
    }
}

@Suite("Reads through a local copy", .enabled(if: TestServer.isThere))
struct LocalCopyTests {
    private let folder = Folder()
    private var path: String { "\(folder.path)/copy.sqlite" }

    private func page(_ offset: Int, _ range: Range<Int>) -> ListEdit {
        .insertPage(PageWrite(offset: offset, content: items(range), evidence: .inferred))
    }

    private func commit(_ store: PostgreSQLPageStore, _ query: QueryID, _ edits: [ListEdit]) async throws {
        let version = try #require(try await store.outline(of: query)).record.version
        let outcome = try await store.commit(CommitPlan(query: query, version: version, edits: edits))
        guard case .committed = outcome else { throw StorageError(.internal, "\(outcome)") }
    }

    private func fill(_ store: PostgreSQLPageStore, pages: Int = 10) async throws -> QueryID {
        let query = try await store.register("list").id
        for number in 0..<pages { try await commit(store, query, [page(number * 10, number * 10..<number * 10 + 10)]) }
        return query
    }

    /// The hits and the misses.
    @discardableResult
    private func counts(_ store: PostgreSQLPageStore) async throws -> [Int] {
        await store.copy?.file.waitUntilStored()
        let status = try #require(await store.localCopyStatus())
        #expect(status.problem == nil)
        return [status.hits, status.misses]
    }

    @Test("A page is copied by its first read, and the second read takes it from the copy, also after a restart")
    func copied() async throws {
        let schema = try Schema()
        let writer = try await schema.open()
        let query = try await fill(writer)
        let reader = try await schema.open(copyAt: path)
        let plain = try #require(try await writer.window(of: query, 5..<25))
        #expect(try await reader.window(of: query, 5..<25) == plain)
        #expect(try await counts(reader) == [0, 1])
        #expect(try await reader.window(of: query, 5..<25) == plain)
        #expect(try await reader.window(of: query, 12..<18) == writer.window(of: query, 12..<18))
        #expect(try await reader.page(at: 10, of: query) == writer.page(at: 10, of: query))
        #expect(try await reader.page(at: 11, of: query) == nil)
        #expect(try await counts(reader) == [4, 1])
        await reader.close()
        let again = try await schema.open(copyAt: path)
        #expect(try await again.window(of: query, 5..<25) == plain)
        #expect(try await counts(again) == [1, 0])
        await again.close()
        await writer.close()
    }

    @Test("While notices arrive, a known list is read without a request")
    func withoutRequest() async throws {
        let schema = try Schema()
        // Nothing but the notices: no comparison falls into the test.
        let store = try await schema.open(copyAt: path, pollInterval: .seconds(60), trust: .seconds(600))
        let query = try await fill(store)
        let plain = try #require(try await store.window(of: query, 0..<100))
        try await counts(store)
        #expect(store.changeCount(of: query) != nil)
        // The first read after the copy was filled compares the version.
        _ = try await store.window(of: query, 0..<100)
        try await schema.run("ALTER TABLE \(schema.name).query RENAME TO hidden")
        #expect(try await store.window(of: query, 0..<100) == plain)
        #expect(try await store.window(of: query, 33..<35)?.parts.count == 1)
        try await schema.run("ALTER TABLE \(schema.name).hidden RENAME TO query")
        await store.close()
    }

    @Test("Lists read whole take their items from the copy")
    func lists() async throws {
        let schema = try Schema()
        let writer = try await schema.open()
        let query = try await fill(writer)
        let reader = try await schema.open(copyAt: path)
        func read(_ store: PostgreSQLPageStore) async throws -> [ListWindow] {
            try #require(try await store.list(of: query) { _ in [0..<15, 40..<50, 95..<300] }).windows
        }
        let plain = try await read(writer)
        #expect(try await read(reader) == plain)
        #expect(try await counts(reader) == [0, 1])
        #expect(try await read(reader) == plain)
        #expect(try await counts(reader) == [1, 1])
        await reader.close()
        await writer.close()
    }

    @Test("Whatever another replica does, each read has the items of its own version", arguments: 0..<3)
    func random(seed: UInt64) async throws {
        let schema = try Schema()
        let writer = try await schema.open()
        let reader = try await schema.open(copyAt: path, bytes: 1 << 20)
        let query = try await writer.register("list").id
        var generator = SeededGenerator(seed: seed)
        var states: [ContentVersion: ListWindow] = [:]
        let whole = 0..<400
        var newest = 0
        for step in 0..<60 {
            let list = try #require(try await writer.outline(of: query))
            let offset = Int.random(in: 0..<20, using: &generator) * 10
            let names = offset + step * 1_000..<offset + step * 1_000 + 10
            let write = PageWrite(offset: offset, content: items(names), evidence: .inferred)
            var edits: [ListEdit] = [.insertPage(write)]
            if list.pages.contains(where: { $0.offset == offset }) {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0:
                    edits = [
                        .splice(offset..<offset, PageWrite(offset: offset, content: items(names), evidence: .verified))
                    ]
                case 1: edits = [.truncate(at: offset)]
                default: edits = [.rearrange(.replacing(offset..<offset + 10, with: write))]
                }
            }
            _ = try await writer.commit(CommitPlan(query: query, version: list.record.version, edits: edits))
            if step % 20 == 19 { _ = try await writer.evict(to: EvictionBudget(pagesPerQuery: 4), exempt: []) }
            let state = try #require(try await writer.window(of: query, whole))
            states[state.contentVersion] = state
            for _ in 0..<3 {
                let lower = Int.random(in: 0..<200, using: &generator)
                let range = lower..<lower + Int.random(in: 1..<60, using: &generator)
                let read = try #require(try await reader.window(of: query, range))
                let state = try #require(states[read.contentVersion], "a version that never was")
                #expect(read.contentVersion.counter >= newest, "an older version than that of an earlier read")
                newest = read.contentVersion.counter
                let expected = state.parts.flatMap { part in
                    part.content.items.enumerated().map { (part.offset + $0, $1.id) }.filter { range.contains($0.0) }
                }
                let got = read.parts.flatMap { part in part.content.items.enumerated().map { (part.offset + $0, $1.id) }
                }
                #expect(got.map(\.0) == expected.map(\.0))
                #expect(got.map(\.1) == expected.map(\.1))
                await reader.copy?.file.waitUntilStored()
            }
        }
        #expect(try await counts(reader)[0] > 20)
        await reader.close()
        await writer.close()
    }

    @Test("Two versions with the same counter and different content differ by their stamps (R51)")
    func stamp() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(copyAt: path), try await schema.open())
        let query = try await fill(first, pages: 2)
        let tables = ["query", "page", "body", "journal"]
        for table in tables {
            try await schema.run("CREATE TABLE public.\(schema.name)_\(table) AS SELECT * FROM \(schema.name).\(table)")
        }
        func replace(_ store: PostgreSQLPageStore, _ range: Range<Int>) async throws {
            let write = PageWrite(offset: 10, content: items(range), evidence: .inferred)
            try await commit(store, query, [.rearrange(.replacing(10..<20, with: write))])
        }
        try await replace(first, 500..<510)
        let lost = try #require(try await first.window(of: query, 0..<20))
        try await counts(first)
        #expect(try await first.window(of: query, 0..<20) == lost)
        // The server forgets the commit, as after a crash, and another replica commits instead.
        for table in tables {
            try await schema.run(
                "DELETE FROM \(schema.name).\(table)",
                "INSERT INTO \(schema.name).\(table) SELECT * FROM public.\(schema.name)_\(table)",
                "DROP TABLE public.\(schema.name)_\(table)")
        }
        try await replace(second, 700..<710)
        let other = try #require(try await second.window(of: query, 0..<20))
        // The trap: the counter, the number of the body and the size of the page are those of the lost version.
        #expect(other.contentVersion.counter == lost.contentVersion.counter)
        #expect(other.contentVersion != lost.contentVersion)
        let end = ContinuousClock.now + CheckedLists.trust + .seconds(120)
        while ContinuousClock.now < end {
            // The rows of page two are those of the lost version, and page one is read anew.
            let read = try #require(try await first.window(of: query, 0..<10))
            #expect(read.contentVersion == lost.contentVersion || read.contentVersion == other.contentVersion)
            if read.contentVersion == other.contentVersion { break }
        }
        _ = try await first.window(of: query, 0..<10)
        #expect(try await first.window(of: query, 10..<20) == second.window(of: query, 10..<20))
        #expect(try await first.window(of: query, 0..<20) == other)
        await first.close()
        await second.close()
    }

    @Test("A purged list is gone from the copy of its process at once, and from those of replicas within the interval")
    func purge() async throws {
        let schema = try Schema()
        let other = "\(folder.path)/other.sqlite"
        let (first, second) = (try await schema.open(copyAt: path), try await schema.open(copyAt: other))
        let query = try await first.register("list").id
        let secret = PageContent((0..<10).map { RawItem(payload: Array("needle \($0)".utf8), id: "\($0)") })
        try await commit(first, query, [.insertPage(PageWrite(offset: 0, content: secret, evidence: .inferred))])
        for store in [first, second] {
            _ = try await store.window(of: query, 0..<10)
            try await counts(store)
        }
        func holds(_ path: String) -> Bool {
            [path, path + "-wal"].contains { file in
                (try? Data(contentsOf: URL(fileURLWithPath: file)))?.range(of: Data("needle".utf8)) != nil
            }
        }
        #expect(holds(path) && holds(other))
        _ = try await first.purge([query])
        #expect(!holds(path))
        // A notice, or the comparison after ten poll intervals.
        let end = ContinuousClock.now + .seconds(120)
        while holds(other), ContinuousClock.now < end { try await schema.run("SELECT pg_sleep(0.02)") }
        #expect(!holds(other))
        #expect(try await first.window(of: query, 0..<10) == nil)
        #expect(try await second.window(of: query, 0..<10) == nil)
        await first.close()
        await second.close()
    }

    @Test("A replica that was away during a purge removes the list when it is opened again")
    func purgedMeanwhile() async throws {
        let schema = try Schema()
        let (first, second) = (try await schema.open(), try await schema.open(copyAt: path))
        let query = try await fill(first)
        _ = try await second.window(of: query, 0..<100)
        try await counts(second)
        await second.close()
        _ = try await first.purge([query])
        let again = try await schema.open(copyAt: path)
        let end = ContinuousClock.now + .seconds(120)
        while await again.copy?.file.queries() != [], ContinuousClock.now < end {
            try await schema.run("SELECT pg_sleep(0.02)")
        }
        #expect(await again.copy?.file.queries() == [])
        await again.close()
        await first.close()
    }

    @Test("Pages that an origin forbids to store are in no local copy")
    func noStore() async throws {
        let schema = try Schema()
        let store = try await schema.open(copyAt: path)
        let repository = ListRepository(
            storage: store, codec: RawItemCodec(), source: { _ in ForbiddingOrigin() })
        let list = repository.list("list")
        _ = try await list.load()
        #expect(list.current.items.count == 10)
        _ = try await repository.page("list", offset: 0, limit: 10)
        await store.copy?.file.waitUntilStored()
        #expect(await store.copy?.file.queries() == [])
        #expect((try? Data(contentsOf: URL(fileURLWithPath: path)))?.range(of: Data("needle".utf8)) == nil)
        await store.close()
    }

    @Test("A copy that cannot be used costs reads, and nothing else")
    func unusable() async throws {
        let schema = try Schema()
        folder.createFile(path, "somebody's notes")
        let store = try await schema.open(copyAt: path)
        let query = try await fill(store)
        #expect(try await store.window(of: query, 0..<100)?.parts.count == 10)
        #expect(try await store.window(of: query, 0..<100)?.missing == [])
        let status = try #require(await store.localCopyStatus())
        #expect(status.problem?.contains("is not") == true || status.problem?.contains("not a database") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "somebody's notes")
        await store.close()
    }

    @Test("A page that is damaged at the server is damaged for a reader with a copy, until it is repaired")
    func damage() async throws {
        let schema = try Schema()
        let store = try await schema.open(copyAt: path)
        let query = try await fill(store)
        try await schema.run(
            "UPDATE \(schema.name).body SET payload = 'x' WHERE id = (SELECT body FROM \(schema.name).page WHERE start = 20)"
        )
        #expect(try await store.window(of: query, 0..<100)?.damaged == [20..<30])
        #expect(try await store.window(of: query, 0..<100)?.damaged == [20..<30])
        #expect(try await store.page(at: 20, of: query) == nil)
        await store.close()
    }
}

/// An origin whose answers may not be stored.
private struct ForbiddingOrigin: PageSource {
    let access = PagingAccess.offsets
    let usage = SourceUsage()

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let content = PageContent((0..<10).map { RawItem(payload: Array("needle \($0)".utf8), id: "\($0)") })
        var page = FetchedPage(content: content, total: .exact(10))
        page.mayBeStored = false
        return .page(page)
    }
}
#endif
