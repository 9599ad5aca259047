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
            // This page was fetched after the eviction had been planned.
            let all = try Eviction(EvictionBudget(bytes: 0), exempt: [], at: noon, in: connection).remaining
            var changed = try #require(all.first { $0.offset == 0 })
            changed.usedAt = noon + .seconds(-1)
            let copy = try MemoryCopy(of: connection, without: eviction.remaining + [changed], at: noon)
            #expect(copy.removed == eviction.remaining)
            // The image uses the blocks of the file. They are too few at first.
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

    private let full = StorageError(.full, "the disk is full")

    private var impatient: SQLitePageStore.Options {
        var options = SQLitePageStore.Options()
        options.busyBudget = .zero
        return options
    }

    @Test("Between a look at the rows and the emptying of the file no other connection commits, and no store is opened")
    func underOneLock() async throws {
        let tree = try await DamagedTree(pages: 3)
        let pages = SQL("SELECT count(*) FROM page")
        let found = try Recreation.empty(
            tree.path, impatient, because: full,
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

    @Test("A file stays as it is when the look refuses to empty it, or when another connection has it open")
    func staying() async throws {
        let tree = try await DamagedTree(pages: 3)
        let before = try tree.bytes
        let refused = try Recreation.empty(
            tree.path, impatient, because: full, after: { _ throws(StorageError) -> Bool? in nil },
            then: { _ throws(StorageError) in Issue.record("a refused file is filled") })
        #expect(refused == nil)
        #expect(try tree.bytes == before)
        let store = try await tree.open()
        let error = #expect(throws: StorageError.self) {
            try Recreation.empty(
                tree.path, impatient, because: full, after: { _ throws(StorageError) -> Bool? in true },
                then: { _ throws(StorageError) in Issue.record("a file in use is filled") })
        }
        #expect(error?.code == .full)
        #expect(try await store.window(of: tree.query, 0..<60)?.missing == [])
        await store.close()
    }
}
