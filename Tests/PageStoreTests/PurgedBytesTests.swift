import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Purged bytes")
struct PurgedBytesTests {
    private let needle = Data("needle-in-the-log".utf8)

    private func bench() async throws -> (Folder, SQLitePageStore, QueryID) {
        let folder = Folder()
        var options = SQLitePageStore.Options()
        options.busyBudget = .milliseconds(20)
        let store = try await SQLitePageStore.openForTest(at: folder.store, options: options)
        let query = try await store.register(QueryKey("list"), at: noon).id
        let content = PageContent([RawItem(payload: Array(needle), id: "a")])
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0),
            edits: [.insertPage(PageWrite(offset: 0, content: content, evidence: .inferred))])
        #expect(try await store.commit(plan) == .committed(plan.version))
        return (folder, store, query)
    }

    private func holdsNeedle(_ folder: Folder) throws -> Bool {
        try folder.contents.contains { name in
            try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)")).range(of: needle) != nil
        }
    }

    /// Returns a reader inside a transaction, as another process may have one.
    private func reader(_ folder: Folder) throws -> Connection {
        let reader = try Connection(path: folder.store)
        try reader.execute("BEGIN; SELECT count(*) FROM page")
        return reader
    }

    @Test("A purge without concurrent readers leaves no bytes behind")
    func alone() async throws {
        let (folder, store, query) = try await bench()
        #expect(try holdsNeedle(folder))
        let report = try await store.purge([query])
        #expect(!report.mayRemainInLog)
        #expect(try !holdsNeedle(folder))
        #expect(try Connection(path: folder.store).number(SQL("SELECT count(*) FROM upkeep")) == 0)
        await store.close()
    }

    @Test(
        "Purging a list removes a body whose page record was lost, and purging everything also removes unreferenced bodies"
    )
    func orphans() async throws {
        for lost in [["page"], ["page", "identity"]] {
            let (folder, store, query) = try await bench()
            try Connection(path: folder.store).execute(lost.map { "DELETE FROM \($0);" }.joined())
            #expect(try holdsNeedle(folder))
            _ = lost.count == 1 ? try await store.purge([query]) : try await store.purgeAll()
            #expect(try !holdsNeedle(folder), "\(lost)")
            #expect(try await store.verify().isSound)
            await store.close()
        }
    }

    @Test("Purging a list keeps a body that another list's page refers to")
    func foreignBody() async throws {
        let (folder, store, query) = try await bench()
        let other = try await store.register(QueryKey("other"), at: noon).id
        try Connection(path: folder.store).execute("UPDATE identity SET query = \(other.rawValue)")
        _ = try await store.purge([other])
        #expect(try await store.window(of: query, 0..<1)?.parts.count == 1)
        await store.close()
    }

    @Test("A purge reports a reader of the log, and the next commit after the reader has ended finishes the purge")
    func nextCommit() async throws {
        let (folder, store, query) = try await bench()
        let reader = try reader(folder)
        #expect(try await store.purge([query]).mayRemainInLog)
        #expect(try holdsNeedle(folder))
        try reader.execute("COMMIT")
        _ = try await store.register(QueryKey("another"), at: noon)
        #expect(try !holdsNeedle(folder))
        #expect(try Connection(path: folder.store).number(SQL("SELECT count(*) FROM upkeep")) == 0)
        await store.close()
    }

    @Test("A purge that a reader blocks is retried after 1, 2, 4 and more commits, up to 64")
    func staying() async throws {
        let (folder, store, query) = try await bench()
        let reader = try reader(folder)
        #expect(try await store.purge([query]).mayRemainInLog)
        for number in 0..<40 { _ = try await store.register(QueryKey("\(number)"), at: noon) }
        try reader.execute("COMMIT")
        for number in 40..<40 + 64 { _ = try await store.register(QueryKey("\(number)"), at: noon) }
        #expect(try !holdsNeedle(folder))
        await store.close()
    }

    @Test("An eviction or closing the store finishes a blocked purge", arguments: [true, false])
    func laterCalls(evicts: Bool) async throws {
        let (folder, store, query) = try await bench()
        // This connection prevents the removal of the log when the store closes.
        let other = try Connection(path: folder.store)
        _ = try other.pragma("user_version")
        let reader = try reader(folder)
        #expect(try await store.purge([query]).mayRemainInLog)
        try reader.execute("COMMIT")
        if evicts {
            _ = try await store.evict(to: EvictionBudget(bytes: 0), exempt: [], at: noon)
        } else {
            await store.close()
        }
        #expect(try !holdsNeedle(folder))
        if evicts { await store.close() }
        withExtendedLifetime(other) {}
    }

    @Test("A process that finishes its own purge leaves the unfinished purge of another process in the store")
    func twoPurges() async throws {
        let (folder, store, query) = try await bench()
        let path = folder.store
        try await store.withWriter { session throws(StorageError) in
            let merging = session.connection.logObserver
            var isNoted = false
            session.connection.observeLog { pages in
                merging?(pages)
                // The log has just been emptied.
                guard pages == 1, !isNoted else { return }
                isNoted = true
                do throws(StorageError) {
                    try Connection(path: path).execute("INSERT INTO upkeep VALUES ('empty_log')")
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
        _ = try await store.purge([query])
        #expect(try Connection(path: path).number(SQL("SELECT count(*) FROM upkeep")) == 1)
        await store.close()
    }

    @Test("A purge also removes copies of rows from unused parts of the file's pages")
    func unusedParts() async throws {
        let (folder, store, query) = try await bench()
        await store.close()
        let root = try #require(
            try Connection(path: folder.store).number(
                SQL("SELECT rootpage FROM sqlite_schema WHERE name = 'migration'")))
        // The page is a leaf. Its unused part is between the pointers to its cells and the cells.
        var file = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        let start = (Int(root) - 1) * 4_096
        func word(_ place: Int) -> Int { Int(file[start + place]) << 8 | Int(file[start + place + 1]) }
        let place = 8 + 2 * word(3)
        try #require(file[start] == 13 && word(5) - place > needle.count)
        file.replaceSubrange(start + place..<start + place + needle.count, with: needle)
        try file.write(to: URL(fileURLWithPath: folder.store))
        let again = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
        let report = try await again.purge([query])
        #expect(!report.mayRemainInFile && !report.mayRemainInLog)
        #expect(try !holdsNeedle(folder))
        #expect(try await again.verify().isSound)
        await again.close()
    }

    @Test("A purge that cannot rewrite a damaged file removes the list, and reports that copies may remain in the file")
    func damagedFile() async throws {
        let tree = try await DamagedTree()
        let store = try await tree.open()
        let query = try await store.register(QueryKey("other"), at: noon).id
        await store.close()
        try tree.damage([try tree.leaves(of: "body")[3]])
        let damaged = try await tree.open()
        let report = try await damaged.purge([query])
        #expect(report.queries == 1 && report.mayRemainInFile)
        #expect(try await damaged.query(QueryKey("other")) == nil)
        await damaged.close()
    }

    @Test("A purge does not rewrite a file with a damaged record, and a repair still finds the record's name")
    func damagedRecord() async throws {
        let (folder, store, _) = try await bench()
        let other = try await store.register(QueryKey("other"), at: noon).id
        try Connection(path: folder.store).execute("UPDATE query SET revision = 7 WHERE key = 'list'")
        #expect(try await store.purge([other]).mayRemainInFile)
        #expect(try await store.repair(at: noon).remaining.isSound)
        #expect(try await store.query(QueryKey("list")) != nil)
        await store.close()
    }

    @Test("The next process that opens a store for writing finishes the purge of a process that died")
    func nextProcess() async throws {
        let (folder, store, query) = try await bench()
        let reader = try reader(folder)
        #expect(try await store.purge([query]).mayRemainInLog)
        // These are the files of a killed process.
        let after = Folder()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: folder.store + suffix, toPath: after.store + suffix)
        }
        try reader.execute("COMMIT")
        await store.close()
        #expect(try holdsNeedle(after))
        let next = try await SQLitePageStore.openForTest(at: after.store, mode: .mustExist)
        #expect(try !holdsNeedle(after))
        #expect(try await next.query(QueryKey("list")) == nil)
        await next.close()
    }
}
