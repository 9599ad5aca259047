import Foundation
import PageModel
import StorageSupport
import Synchronization
import Testing

@testable import PageStore

@Suite("Merging the log under the write lock")
struct LogMergerTests {
    private static let frame = 4_096 + 24

    private func store(_ folder: Folder, pages: Int) async throws -> SQLitePageStore {
        var options = SQLitePageStore.Options()
        options.checkpointBytes = pages * 4_096
        return try await SQLitePageStore.openForTest(at: folder.store, options: options)
    }

    private func size(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private func commit(_ number: Int, to query: QueryID, _ store: SQLitePageStore) throws {
        let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        let content = PageContent([RawItem(payload: payload, id: "i\(number)")])
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0),
            edits: [.insertPage(PageWrite(offset: number, content: content, evidence: .inferred))])
        #expect(try store.synchronously.commit(plan) == .committed(plan.version))
    }

    @Test(
        "The log stays below twice its threshold, whatever the page size of the database",
        arguments: [nil, 1_024, 16_384])
    func bounded(begunWith pageSize: Int?) async throws {
        let folder = Folder()
        if let pageSize {
            // A process that was killed early leaves such a file.
            #expect(FileManager.default.createFile(atPath: folder.store, contents: nil))
            try Connection(path: folder.store).execute(
                """
                PRAGMA page_size = \(pageSize);
                PRAGMA auto_vacuum = INCREMENTAL;
                PRAGMA application_id = \(StoreFile.applicationID)
                """)
        }
        let store = try await store(folder, pages: 50)
        if let pageSize { #expect(try Connection(path: folder.store).pragma("page_size") == Int64(pageSize)) }
        let query = try await store.register(QueryKey("list"), at: noon).id
        var longest = 0
        for number in 0..<600 {
            try commit(number, to: query, store)
            longest = max(longest, size(folder.store + "-wal"))
        }
        // Each page in the log has a header of 24 bytes.
        #expect(longest < 2 * 50 * Self.frame, "\(longest)")
        #expect(size(folder.store) > 600 * 20_000 / 2, "most of the data is in the database file")
        await store.close()
    }

    @Test("A merge is due at the threshold and after each further sixteenth, until the log restarts")
    func schedule() {
        var schedule = MergeSchedule(bytes: 160)
        let due = [159, 160, 165, 170, 171, 180, 20, 159, 161, 162].map { schedule.isDue(at: $0) }
        #expect(due == [false, true, false, true, false, true, false, false, true, false])
    }

    /// - Returns: The largest size of the log, in bytes.
    private func write(to store: SQLitePageStore, _ folder: Folder, _ list: String) async throws -> Int {
        let query = try await store.register(QueryKey(list), at: noon).id
        var longest = 0
        for number in 0..<300 {
            let content = PageContent([
                RawItem(payload: [UInt8](repeating: UInt8(ascii: "x"), count: 20_000), id: "i\(number)")
            ])
            let edit = ListEdit.insertPage(PageWrite(offset: number, content: content, evidence: .inferred))
            let plan = CommitPlan(query: query, version: ListVersion(generation: 1, revision: 0), edits: [edit])
            #expect(try await store.commit(plan) == .committed(plan.version))
            longest = max(longest, size(folder.store + "-wal"))
        }
        return longest
    }

    @Test("The log stays short while two connections write without a pause and one reads")
    func twoWriters() async throws {
        let folder = Folder()
        let stores = [try await store(folder, pages: 50), try await store(folder, pages: 50)]
        let isOver = Mutex(false)
        async let reading: Void = {
            while !isOver.withLock({ $0 }) { _ = try await stores[0].query(QueryKey("list")) }
        }()
        async let first = write(to: stores[0], folder, "first")
        async let second = write(to: stores[1], folder, "second")
        let longest = max(try await first, try await second)
        isOver.withLock { $0 = true }
        try await reading
        // A merge that a reader blocks is retried after another sixteenth.
        #expect(longest < 8 * 50 * Self.frame, "\(longest)")
        for store in stores { await store.close() }
    }

    @Test("A merge holds the write lock from start to end")
    func locked() async throws {
        let folder = Folder()
        let store = try await store(folder, pages: 1_000)
        let query = try await store.register(QueryKey("list"), at: noon).id
        try commit(0, to: query, store)
        let identity = store.identity
        try await store.withWriter { session throws(StorageError) in
            let other = try Connection(path: folder.store)
            let locker = try StoreOpening.openLocker(folder.store, identity, options: SQLitePageStore.Options())
            try locker.holdingWriteLock { () throws(StorageError) in
                #expect(throws: StorageError.self) { try other.execute("BEGIN IMMEDIATE") }
                let isWhole = try session.connection.mergeLog()
                #expect(isWhole)
            }
            try other.execute("BEGIN IMMEDIATE; ROLLBACK")
        }
        await store.close()
    }

    @Test("A purge leaves one database page in the log")
    func purge() async throws {
        let folder = Folder()
        let store = try await store(folder, pages: 50)
        for round in 0..<40 {
            let query = try await store.register(QueryKey("list \(round)"), at: noon).id
            for number in 0..<(10 + round % 5) { try commit(number, to: query, store) }
            _ = try await store.purge([query])
            #expect(size(folder.store + "-wal") == 32 + Self.frame, "round \(round)")
        }
        await store.close()
    }

    @Test(
        "An urgent emptying of the log waits for a reader within the busy budget, and a non-urgent one makes one attempt"
    )
    func besideReader() async throws {
        let folder = Folder()
        let store = try await store(folder, pages: 1_000)
        let query = try await store.register(QueryKey("list"), at: noon).id
        for number in 0..<12 { try commit(number, to: query, store) }
        let identity = store.identity
        try await store.withWriter { session throws(StorageError) in
            let reader = try Connection(path: folder.store)
            try reader.execute("BEGIN; SELECT count(*) FROM page")
            let connection = session.connection
            try connection.rewriteFirstPage(cuttingLog: false)
            let merger = LogMerger(bytes: 1, writer: connection) { () throws(StorageError) in
                try StoreOpening.openLocker(folder.store, identity, options: SQLitePageStore.Options())
            }
            connection.observeLog { merger.logHasGrown(to: $0, pageSize: 0) }
            #expect(try !merger.empty(isUrgent: false) { Issue.record("a non-urgent emptying waits") })
            connection.setBusyBudget(.zero)
            #expect(try !merger.empty(isUrgent: true) { Issue.record("an urgent emptying waits without a budget") })
            connection.setBusyBudget(.seconds(60))
            var pauses = 0
            let isEmpty = try merger.empty(isUrgent: true) {
                pauses += 1
                if pauses == 3 { try? reader.execute("COMMIT") }
            }
            #expect(isEmpty && pauses == 3)
            connection.observeLog { _ in }
        }
        #expect(size(folder.store + "-wal") == 32 + Self.frame)
        await store.close()
    }

    @Test("A closed store leaves no log behind")
    func closing() async throws {
        for _ in 0..<20 {
            let folder = Folder()
            let store = try await store(folder, pages: 20)
            let query = try await store.register(QueryKey("list"), at: noon).id
            for number in 0..<12 { try commit(number, to: query, store) }
            await store.close()
            #expect(!folder.contents.contains("store.sqlite-wal"))
        }
    }
}
