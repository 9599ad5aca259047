import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Eviction on a full disk")
struct FullDiskEvictionTests {
    @Test("An eviction portion that does not fit is retried with fewer pages (256, 4, 1) and then abandoned")
    func portions() async throws {
        let tree = try await DamagedTree(pages: 300)
        let connection = try Connection(path: tree.path)
        var eviction = try Eviction(EvictionBudget(bytes: 0), exempt: [], at: noon, in: connection)
        let first = eviction.next() ?? []
        #expect(first.count == 256)
        #expect(!eviction.isShortOfSpace)
        var isSmaller = eviction.makeSmaller(first)
        #expect(isSmaller)
        let second = eviction.next() ?? []
        #expect(second == Array(first.prefix(4)))
        #expect(eviction.isShortOfSpace)
        isSmaller = eviction.makeSmaller(second)
        #expect(isSmaller)
        let third = eviction.next() ?? []
        #expect(third == Array(first.prefix(1)))
        isSmaller = eviction.makeSmaller(third)
        #expect(!isSmaller)
        eviction.requeue(third)
        #expect(eviction.remaining.count == 300)
        #expect(eviction.bytesLeftAfterAll == 0)
    }

    @Test("A copy through memory keeps pages, ledger and records, without the pages chosen for eviction")
    func throughMemory() async throws {
        let tree = try await DamagedTree(pages: 30)
        let other = Folder()
        do {
            let connection = try Connection(path: tree.path)
            let eviction = try Eviction(EvictionBudget(pagesPerQuery: 10), exempt: [], at: noon, in: connection)
            #expect(eviction.remaining.count == 20)
            // The plan has an earlier time for this page than the store, as after a fetch since the plan was made.
            let all = try Eviction(EvictionBudget(bytes: 0), exempt: [], at: noon, in: connection).remaining
            var changed = try #require(all.first { $0.offset == 0 })
            changed.usedAt = noon + .seconds(-1)
            let copy = try MemoryCopy(of: connection, without: eviction.remaining + [changed], at: noon)
            #expect(copy.removed == eviction.remaining)
            // The image is written over the blocks of the file. At first the file has too few of them.
            try Data(count: 4_096).write(to: URL(fileURLWithPath: other.store))
            let error = #expect(throws: StorageError.self) { try copy.image().write(over: other.store, because: full) }
            #expect(error?.code == .full)
            #expect(StoreFile.size(other.store) == 4_096)
            try Data(repeating: 7, count: 1 << 20).write(to: URL(fileURLWithPath: other.store))
            try copy.image().write(over: other.store, because: full)
            #expect(try Connection(path: other.store).pragma("freelist_count") == 0)
        }
        let store = try await SQLitePageStore.openForTest(at: other.store, mode: .mustExist)
        #expect(try await store.verify().isSound)
        let list = try #require(try await store.outline(of: tree.query))
        #expect(list.pages.map(\.offset) == (0..<10).map { $0 * 20 })
        #expect(list.ledger.map(\.offset) == (0..<10).map { $0 * 20 })
        #expect(list.gaps == [200..<600])
        #expect(try await store.window(of: tree.query, 0..<200)?.missing == [])
        await store.close()
    }

    /// Creates an open store with a list of pages of 60 KB. Each page was fetched a second after the page before it. An
    /// eviction therefore begins with the front of the file, and shortening the file moves the later pages.
    private func makeLarge(
        _ faulty: FaultyFolder, pages: Int
    ) async throws -> (store: SQLitePageStore, query: QueryID) {
        let store = try await faulty.open()
        let query = try await store.register(QueryKey("list"), at: noon).id
        for page in 0..<pages {
            let content = PageContent([
                RawItem(payload: [UInt8](repeating: UInt8(ascii: "x"), count: 60_000), id: "i\(page)")
            ])
            let plan = CommitPlan(
                query: query, version: ListVersion(generation: 1, revision: 0),
                edits: [.insertPage(PageWrite(offset: page, content: content, evidence: .inferred))])
            #expect(try await store.commit(plan, at: noon + .seconds(page)) == .committed(plan.version))
        }
        try await store.withWriter { session throws(StorageError) in _ = try session.emptyLog(isUrgent: true) }
        return (store, query)
    }

    /// The budget that keeps half of the pages that `makeLarge` creates.
    private func half(_ pages: Int) -> EvictionBudget { EvictionBudget(bytes: pages / 2 * 61_000) }

    @Test("With room for a log of 400 KB the file becomes shorter by all that an eviction removes")
    func shortened() async throws {
        let faulty = FaultyFolder()
        let (store, query) = try await makeLarge(faulty, pages: 60)
        let before = StoreFile.size(store.path)
        fault_limit_log(faulty.control, 400_000)
        let report = try await store.evict(to: half(60), exempt: [], at: noon + .seconds(100))
        #expect(report.pages == 30)
        #expect(report.unreturnedBytes == 0)
        #expect(StoreFile.size(store.path) < before * 6 / 10)
        #expect(try await store.window(of: query, 0..<60)?.missing == [0..<30])
        #expect(try await store.verify().isSound)
        await store.close()
    }

    @Test("A file that cannot be shortened is reported with its unused bytes, and the next eviction shortens it")
    func unreturned() async throws {
        let faulty = FaultyFolder()
        let (store, _) = try await makeLarge(faulty, pages: 60)
        let before = StoreFile.size(store.path)
        // While this reader is open, the log cannot restart and only grows.
        var reader: Connection? = try Connection(path: store.path)
        try reader?.execute("BEGIN; SELECT count(*) FROM page")
        fault_limit_log(faulty.control, 1_000_000)
        let report = try await store.evict(to: half(60), exempt: [], at: noon + .seconds(100))
        #expect(report.pages == 30)
        #expect(report.unreturnedBytes > 100_000)
        reader = nil
        fault_limit_log(faulty.control, 0)
        let next = try await store.evict(to: half(60), exempt: [], at: noon + .seconds(100))
        #expect(next.pages == 0)
        #expect(next.unreturnedBytes == 0)
        #expect(StoreFile.size(store.path) < before * 6 / 10)
        await store.close()
    }

    @Test(
        "On a disk without a free byte the file is written anew and shorter, and damaged rows stay in it as they are",
        arguments: [nil, "UPDATE page SET seal = 1 WHERE offset = 0 AND count = 3", "UPDATE store SET seal = 1"]
            as [String?])
    func rewritten(damage: String?) async throws {
        do {
            let isDamaged = damage?.contains("page") ?? false
            let faulty = FaultyFolder()
            let (store, query) = try await makeLarge(faulty, pages: 20)
            // The page to damage is in a pinned list, because an eviction removes no page of it.
            let pinned = try await store.register(QueryKey("pinned"), at: noon)
            let page = PageWrite(offset: 0, content: items(0..<3), evidence: .inferred)
            _ = try await store.commit(
                CommitPlan(query: pinned.id, version: pinned.version, edits: [.insertPage(page)]), at: noon)
            try await store.setPinned(true, pinned.id)
            try await store.withWriter { session throws(StorageError) in
                if let damage { try session.connection.execute(damage) }
                _ = try session.emptyLog(isUrgent: true)
            }
            let before = StoreFile.size(store.path)
            let version = try #require(try await store.outline(of: query)).record.contentVersion
            faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
            func evict() async throws -> EvictionReport {
                try await store.evictRewritingFile(to: half(20), exempt: [])
            }
            let report = try await evict()
            #expect(report.pages == 10)
            #expect(report.unreturnedBytes == 0)
            #expect(StoreFile.size(store.path) < before * 7 / 10)
            faulty.disarm()
            let again = try await faulty.open()
            let found = try await again.verify().findings.map(\.kind)
            #expect(found == (isDamaged ? [.page] : []))
            #expect(try await again.outline(of: query)?.pages.count == 10)
            // After a rewrite, a reader of changes has to read the whole list again.
            var isTruncated = false
            if case .truncated? = try await again.changes(of: query, since: version, limit: 9) { isTruncated = true }
            #expect(isTruncated)
            if isDamaged { #expect(try await again.repair(at: noon).pagesDropped == 1) }
            await again.close()
        }
    }

    @Test("On a full disk a file with unreadable rows stays unchanged")
    func unreadable() async throws {
        let faulty = FaultyFolder()
        let made = try await makeLarge(faulty, pages: 20).store
        await made.close()
        let tree = DamagedTree(at: faulty.folder)
        try tree.damage(try tree.leaves(of: "tally"))
        let store = try await faulty.open()
        let before = try tree.bytes
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        let error = await #expect(throws: StorageError.self) {
            try await store.evictRewritingFile(to: half(20), exempt: [])
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("rewritten only after a repair, which needs ") == true)
        #expect(try tree.bytes == before)
        faulty.disarm()
    }

    @Test(
        "The error of a full disk names the room for the log, by the size of the file's pages",
        arguments: [(4_096, "300 KB"), (65_536, "787 KB")])
    func roomForLog(pageSize: Int, room: String) async throws {
        let faulty = FaultyFolder()
        let made = try await makeLarge(faulty, pages: 4).store
        let path = made.path
        await made.close()
        try Connection(path: path).execute("PRAGMA journal_mode = DELETE; PRAGMA page_size = \(pageSize); VACUUM")
        let store = try await faulty.open()
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        let error = await #expect(throws: StorageError.self) {
            try await store.evict(to: EvictionBudget(bytes: 0), exempt: [])
        }
        #expect(error?.code == .full)
        #expect(error?.message.hasSuffix("a deletion needs \(room) of free space for the log") == true)
        faulty.disarm()
        await store.close()
    }

    @Test(
        "On a full disk a store without its indexes, or with a rollback journal, is read, and pages are evicted from it",
        arguments: ["DROP INDEX ledger_due; DROP INDEX ledger_failing", "PRAGMA journal_mode = DELETE"])
    func changedByOthers(script: String) async throws {
        let faulty = FaultyFolder()
        let (store, query) = try await makeLarge(faulty, pages: 20)
        let path = store.path
        await store.close()
        try Connection(path: path).execute(script)
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        var options = faulty.options
        options.isAlone = true
        let crowded = try await SQLitePageStore.openForTest(at: path, mode: .mustExist, options: options)
        #expect(try await crowded.outline(of: query)?.pages.count == 20)
        if script.contains("INDEX") { #expect(await code { try await crowded.repair(at: noon) } == .full) }
        #expect(try await crowded.evictRewritingFile(to: half(20), exempt: []).pages == 10)
        faulty.disarm()
        let again = try await faulty.open()
        #expect(try await again.verify().isSound)
        #expect(try await again.outline(of: query)?.pages.count == 10)
        await again.close()
    }

    @Test(
        "An eviction rewrites a file whose form another program changed in the form of a store, and shortens the file")
    func changedForm() async throws {
        let faulty = FaultyFolder()
        let (store, _) = try await makeLarge(faulty, pages: 60)
        let path = store.path
        await store.close()
        try Connection(path: path).execute("PRAGMA auto_vacuum = 0; VACUUM")
        let before = StoreFile.size(path)
        let opened = try await faulty.open()
        let report = try await opened.evict(to: half(60), exempt: [])
        #expect(report.pages == 30)
        #expect(report.unreturnedBytes == 0)
        let form = try await opened.withWriter { session throws(StorageError) in
            try session.connection.pragma("auto_vacuum")
        }
        #expect(form == 2)
        await opened.close()
        #expect(StoreFile.size(path) < before * 6 / 10)
    }

    private let full = StorageError(.full, "the disk is full")

    private var optionsWithoutWaiting: SQLitePageStore.Options {
        var options = SQLitePageStore.Options()
        options.busyBudget = .zero
        return options
    }

    @Test(
        "No other connection commits, and no store opens, between the check of a file's rows and the emptying of the file"
    )
    func underOneLock() async throws {
        let tree = try await DamagedTree(pages: 3)
        let pages = SQL("SELECT count(*) FROM page")
        let found = try Recreation.empty(
            tree.path, optionsWithoutWaiting, because: full,
            after: { connection throws(StorageError) -> Int64? in
                let other = try Connection(path: tree.path)
                #expect(throws: StorageError.self) { try other.execute("BEGIN IMMEDIATE") }
                return try connection.number(pages)
            },
            then: { _ throws(StorageError) in
                #expect(StoreFile.size(tree.path) == 0)
                #expect(StoreGate(tree.path, makingFile: true)?.lock(.shared) == false)
            })
        #expect(found?.value == 3)
        #expect(!StoreFile.exists(tree.path + "-wal"))
    }

    @Test("A file keeps its content when the check of its rows forbids the emptying, or another connection has it open")
    func staying() async throws {
        let tree = try await DamagedTree(pages: 3)
        let before = try tree.bytes
        let refused = try Recreation.empty(
            tree.path, optionsWithoutWaiting, because: full, after: { _ throws(StorageError) -> Bool? in nil },
            then: { _ throws(StorageError) in Issue.record("a refused file is filled") })
        #expect(refused == nil)
        #expect(try tree.bytes == before)
        let store = try await tree.open()
        let error = #expect(throws: StorageError.self) {
            try Recreation.empty(
                tree.path, optionsWithoutWaiting, because: full, after: { _ throws(StorageError) -> Bool? in true },
                then: { _ throws(StorageError) in Issue.record("a file in use is filled") })
        }
        #expect(error?.code == .full)
        #expect(try await store.window(of: tree.query, 0..<60)?.missing == [])
        await store.close()
    }
}
