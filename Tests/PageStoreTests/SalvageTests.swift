import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("The new file of a repair")
struct SalvageTests {
    /// Creates a closed store with one list of 6 MB, from which another program has dropped a table.
    private func changedStore(in faulty: FaultyFolder) async throws -> (path: String, change: SchemaChange) {
        let store = try await faulty.open()
        let path = store.path
        let query = try await store.register(QueryKey("list"), at: noon).id
        for page in 0..<60 {
            let item = RawItem(payload: [UInt8](repeating: UInt8(ascii: "x"), count: 100_000), id: "i\(page)")
            let plan = CommitPlan(
                query: query, version: ListVersion(generation: 1, revision: 0),
                edits: [.insertPage(PageWrite(offset: page, content: PageContent([item]), evidence: .inferred))])
            #expect(try await store.commit(plan, at: noon) == .committed(plan.version))
        }
        await store.close()
        try Connection(path: path).execute("DROP TABLE tally")
        let error = await #expect(throws: StorageError.self) { try await faulty.open() }
        return (path, try #require(error?.cause as? SchemaChange))
    }

    @Test("The log of the new file stays small, however long a list is")
    func smallLog() async throws {
        let faulty = FaultyFolder()
        let (path, change) = try await changedStore(in: faulty)
        fault_limit_log(faulty.control, 3_000_000)
        let report = try await SQLitePageStore.salvage(at: path, from: change, options: faulty.options)
        #expect(report.remaining.isSound)
        fault_limit_log(faulty.control, 0)
        let store = try await faulty.open()
        #expect(try await store.summaries().first?.outline.pages.count == 60)
        await store.close()
    }

    @Test("The old file gets its new name without a copy, so that a repair needs no room for one")
    func noCopy() async throws {
        let faulty = FaultyFolder()
        let (path, change) = try await changedStore(in: faulty)
        let old = try #require(FileIdentity(path))
        let report = try await SQLitePageStore.salvage(at: path, from: change, options: faulty.options)
        let replaced = try #require(report.replacedFile)
        #expect(FileIdentity(replaced) == old)
        #expect(FileIdentity(path) != old)
    }

    /// Gives a store a second name and an unfinished new file, as a repair that is killed before the swap leaves them.
    /// - Returns: The second name.
    private func leaveHalf(of path: String) -> String {
        let aside = path + ".corrupt-20260115T080000Z"
        #expect(link(path, aside) == 0)
        #expect(FileManager.default.createFile(atPath: path + ".repair-new", contents: Data("half".utf8)))
        return aside
    }

    @Test("The second name that a killed repair gave to a store is refused, and the next writer removes it")
    func killedBeforeTheSwap() async throws {
        let tree = try await DamagedTree(pages: 3)
        let aside = leaveHalf(of: tree.path)
        #expect(await code { try await SQLitePageStore.openForTest(at: aside, mode: .mustExist) } == .notAStore)
        let reader = try await SQLitePageStore.openForTest(at: tree.path, mode: .readOnly)
        #expect(try await reader.verify().isSound)
        // This process has the file open under its own name. No file appears next to the second one.
        for mode in [SQLitePageStore.Mode.readOnly, .mustExist, .createIfMissing] {
            #expect(await code { try await SQLitePageStore.openForTest(at: aside, mode: mode) } == .notAStore)
        }
        #expect(tree.folder.contents.count { $0.contains(".corrupt-") } == 1)
        await reader.close()
        let store = try await tree.open()
        #expect(!StoreFile.exists(aside))
        #expect(!StoreFile.exists(tree.path + ".repair-new"))
        try await store.setPinned(true, tree.query)
        #expect(try await store.verify().isSound)
        await store.close()
        #expect(link(tree.path, tree.path + "-second") == 0)
        #expect(await code { try await tree.open() } == .notAStore)
    }

    @Test("A repair and a set-aside after a killed repair leave the old file under one name", arguments: [true, false])
    func oneName(isRepaired: Bool) async throws {
        let faulty = FaultyFolder()
        let (path, change) = try await changedStore(in: faulty)
        let old = try #require(FileIdentity(path))
        let aside = leaveHalf(of: path)
        // Another old file stays.
        let other = path + ".corrupt-20250115T080000Z"
        faulty.folder.createFile(other)
        let replaced: String
        if isRepaired {
            let report = try await SQLitePageStore.salvage(at: path, from: change, options: faulty.options)
            replaced = try #require(report.replacedFile)
        } else {
            replaced = try SQLitePageStore.setAside(at: path, now: noon)
        }
        #expect(!StoreFile.exists(aside))
        #expect(!StoreFile.exists(path + ".repair-new"))
        #expect(Quarantine.setAside(of: path).filter { !$0.hasSuffix("-wal") } == [other, replaced])
        #expect(FileIdentity(replaced) == old)
        try StoreFile.checkName(of: replaced)
    }

    @Test("A repair that lacks room for a new file says how many bytes it needs, before it writes")
    func room() async throws {
        let error = #expect(throws: StorageError.self) {
            try Salvage.checkRoom(10_500_000, free: 9_900_000, for: "S")
        }
        #expect(error?.code == .full)
        #expect(error?.message == "a repair of S needs 11 MB of free space for a copy of its rows, and 9 MB are free")
        try Salvage.checkRoom(10_500_000, free: 10_500_000, for: "S")
        // A repair needs room for the present rows, and twice for a portion of a MiB with the largest page.
        let tree = try await DamagedTree()
        let size = StoreFile.size(tree.path)
        let full = try Salvage.bytesNeeded(by: Connection(path: tree.path))
        #expect(full > 2 << 20 && full < size + (3 << 20))
        try Connection(path: tree.path).execute("DELETE FROM body")
        let empty = try Salvage.bytesNeeded(by: Connection(path: tree.path))
        #expect(empty < full - size / 4)
    }

    @Test(
        "A repair without room names the bytes that it needs, unless an eviction can make room without any",
        arguments: [true, false])
    func roomInPlace(isFileDamaged: Bool) async throws {
        let faulty = FaultyFolder()
        let made = try await faulty.open()
        for number in 0..<4 { _ = try await made.register(QueryKey("list \(number)"), at: noon) }
        let path = made.path
        await made.close()
        if isFileDamaged {
            let tree = DamagedTree(at: faulty.folder)
            try tree.repeatCell(2, of: try #require(try tree.leaves(of: "sqlite_autoindex_query_1").first))
        } else {
            try Connection(path: path).execute("UPDATE query SET revision = revision + 1 WHERE id = 1")
        }
        let store = try await faulty.open()
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        let error = await #expect(throws: StorageError.self) { try await store.repair(at: noon) }
        faulty.disarm()
        #expect(error?.code == .full)
        // `gc --rewrite` refuses the file whose index is damaged.
        #expect(error?.message.contains(" MB of free space for a copy of its rows") == isFileDamaged)
        await store.close()
    }

    /// Returns the statements that replace a table by a copy without its constraints.
    private func copied(_ table: String) -> String {
        "CREATE TABLE copy AS SELECT * FROM \(table); DROP TABLE \(table); ALTER TABLE copy RENAME TO \(table);"
    }

    /// Creates a closed store with a pinned list of two pages, changes its schema, and copies its rows to a new file.
    private func salvage(after script: String) async throws -> (report: RepairReport, list: QueryRecord?) {
        let bench = try await Bench()
        for offset in [0, 3] { try await bench.put(offset, items(offset..<offset + 3)) }
        try await bench.store.setPinned(true, bench.query)
        await bench.store.close()
        let path = bench.folder.store
        try Connection(path: path).execute(script)
        let error = await #expect(throws: StorageError.self) {
            try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        }
        let change = try #require(error?.cause as? SchemaChange)
        let report = try await SQLitePageStore.salvage(at: path, from: change)
        #expect(report.remaining.isSound, "\(report.remaining.findings)")
        let store = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        let records = try await store.records()
        await store.close()
        return (report, records.first)
    }

    @Test(
        "A copied record keeps a pin that can be read, and the report counts a pin that cannot be read",
        arguments: [("created_at", true), ("pinned", false)])
    func pin(column: String, isReadable: Bool) async throws {
        let (report, list) = try await salvage(after: "ALTER TABLE query DROP COLUMN \(column)")
        #expect(list?.isDescriptionLost == true)
        #expect(list?.isPinned == isReadable)
        #expect(report.pinsLost == (isReadable ? [] : [QueryKey("https://example.com/list")]))
        #expect((report.queriesDropped, report.pagesDropped) == (0, 0))
    }

    @Test("The report names the lists whose pins cannot be read, and the other lists keep their pins")
    func pinsInLostLeaf() async throws {
        let folder = Folder()
        let made = try await SQLitePageStore.openForTest(at: folder.store)
        for number in 0..<200 {
            let query = try await made.register(QueryKey("list \(number) with a name of forty characters"), at: noon).id
            try await made.setPinned(true, query)
        }
        await made.close()
        let tree = DamagedTree(at: folder)
        let leaves = try tree.leaves(of: "query")
        try #require(leaves.count > 2)
        try tree.damage([leaves[1]])
        let damaged = try await tree.open()
        let report = try await damaged.repair(at: noon)
        #expect(report.replacedFile != nil)
        let store = try await tree.open()
        let records = try await store.records()
        await store.close()
        #expect(records.count == 200)
        #expect((1..<200).contains(report.pinsLost.count))
        #expect(Set(report.pinsLost) == Set(records.filter { !$0.isPinned }.map(\.key)))
    }

    @Test("Doubled rows do not count as dropped, and pages of a missing query count as pages and not as a query")
    func counts() async throws {
        let doubled = try await salvage(
            after: """
                \(copied("body"))
                INSERT INTO body SELECT * FROM body
                """
        ).report
        #expect((doubled.queriesDropped, doubled.pagesDropped) == (0, 0))
        let swapped = try await salvage(
            after: """
                \(copied("page"))
                UPDATE page SET query = 1000 + body
                """
        ).report
        #expect((swapped.queriesDropped, swapped.pagesDropped) == (0, 2))
    }

    @Test("The report of a copy counts the items that are left, and each page that was dropped")
    func itemsLeft() async throws {
        let report = try await salvage(
            after: """
                \(copied("body"))
                UPDATE body SET payload = x'00' WHERE id = (SELECT min(id) FROM body)
                """
        ).report
        #expect((report.found.pages, report.pagesDropped) == (2, 1))
        #expect((report.found.items, report.remaining.items) == (3, 3))
        #expect(report.found.bytes == report.remaining.bytes)
    }

    @Test("The report contains a removed record as it was read, with the URL of the list")
    func removed() async throws {
        let (report, list) = try await salvage(
            after: """
                ALTER TABLE query RENAME COLUMN scope TO other; ALTER TABLE query RENAME COLUMN key TO scope;
                ALTER TABLE query RENAME COLUMN other TO key
                """)
        #expect(list == nil)
        #expect((report.queriesDropped, report.pagesDropped) == (1, 2))
        #expect(report.removed.map(\.key) == [QueryKey("", scope: "https://example.com/list")])
    }
}
