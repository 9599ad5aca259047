import Foundation
import PageModel
import StorageSupport
import Synchronization
import Testing

@testable import PageStore

@Suite("The log is merged beside the commits")
struct CheckpointTests {
    private func store(_ folder: Folder, checkpointBytes: Int) async throws -> PageStore {
        var options = PageStore.Options()
        options.checkpointBytes = checkpointBytes
        return try await PageStore.openForTest(at: folder.store, options: options)
    }

    private func size(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private func commit(_ number: Int, to query: QueryID, _ store: PageStore) throws {
        let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        let content = PageContent([Item(payload: payload, id: "i\(number)")])
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0), edits: [.put(PageWrite(offset: number, content: content, evidence: .inferred))])
        #expect(try store.synchronously.commit(plan) == .committed(plan.version))
    }

    @Test("what was committed gets into the file while others write on, and the log stays as long as was said, however long its pages",
        arguments: [nil, 1_024, 16_384])
    func bounded(begunWith pageSize: Int?) async throws {
        let folder = Folder()
        if let pageSize {
            // As a process leaves it that was killed before there was anything in it.
            #expect(FileManager.default.createFile(atPath: folder.store, contents: nil))
            try Connection(path: folder.store).execute(
                """
                PRAGMA page_size = \(pageSize);
                PRAGMA auto_vacuum = INCREMENTAL;
                PRAGMA application_id = \(StoreFile.applicationID)
                """)
        }
        let store = try await store(folder, checkpointBytes: 50 * 4_096)
        if let pageSize { #expect(try Connection(path: folder.store).pragma("page_size") == Int64(pageSize)) }
        let query = try await store.register(QueryKey("list"), at: noon).id
        var longest = 0
        for number in 0..<600 {
            try commit(number, to: query, store)
            longest = max(longest, size(folder.store + "-wal"))
        }
        store.checkpointer.wait()
        // Four times as long, and what the commit adds that finds it so, however slow the disk: who is at it is waited for.
        // A page has a header of 24 bytes in the log.
        #expect(longest < 5 * 50 * (4_096 + 24), "\(longest)")
        #expect(size(folder.store) > 600 * 20_000 / 2, "the larger part is in the file")
        await store.close()
    }

    @Test("the other thread alone gets into the file what was committed, as soon as the log is long")
    func merged() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointBytes: 50 * 4_096)
        let query = try await store.register(QueryKey("list"), at: noon).id
        let before = size(folder.store)
        // Some 40 KB each: no commit finds it four times as long.
        for number in 0..<12 { try commit(number, to: query, store) }
        store.checkpointer.wait()
        #expect(size(folder.store) > before + 5 * 20_000)
        await store.close()
    }

    @Test("the first thread to find it long is not the one that merges it, unless it is far too long")
    func whose() {
        let opened = Mutex(0)
        let checkpointer = Checkpointer(bytes: 100, place: nil) { () throws(StorageError) in
            opened.withLock { $0 += 1 }
            throw StorageError(.inputOutput, "there is no file")
        }
        #expect(checkpointer.logHasGrown(to: 99) == nil)
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 0)
        for size in [100, 150, 199] {
            #expect(checkpointer.logHasGrown(to: size) == nil)
            checkpointer.wait()
        }
        #expect(opened.withLock { $0 } == 1, "once for every hundred")
        #expect(checkpointer.logHasGrown(to: 200) == nil)
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 2, "what failed is tried again")
        #expect(checkpointer.logHasGrown(to: 400) == .patiently)
        #expect(checkpointer.logHasGrown(to: 449) == nil, "not again before it has grown by an eighth")
        #expect(checkpointer.logHasGrown(to: 460) == .patiently)
        for size in [7, 199, 200] {
            #expect(checkpointer.logHasGrown(to: size) == nil)
            checkpointer.wait()
        }
        #expect(opened.withLock { $0 } == 3, "it began anew, and grew as long as it was")
        checkpointer.close()
        #expect(checkpointer.logHasGrown(to: 399) == nil)
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 3, "nothing begins after the end")
    }

    @Test("once it is three times as long and merged, the next commit merges what is left, and if it cannot, one after it")
    func theEnd() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointBytes: 1_000 * 4_096)
        let query = try await store.register(QueryKey("list"), at: noon).id
        try commit(0, to: query, store)
        let checkpointer = Checkpointer(bytes: 100, place: nil) { () throws(StorageError) in
            try StoreOpening.openCheckpointer(folder.store, options: PageStore.Options())
        }
        let before = size(folder.store)
        for (length, ends) in [
            (100, nil), (200, nil), (300, nil), (301, .atOnce), (306, nil), (307, .atOnce), (399, .atOnce), (440, nil), (460, .patiently),
        ] as [(Int, Connection.LogEnd?)] {
            #expect(checkpointer.logHasGrown(to: length) == ends, "\(length)")
            checkpointer.wait()
        }
        #expect(size(folder.store) > before)
        // It has begun anew; the second time while it was being merged.
        for length in [7, 310, 5, 6] {
            #expect(checkpointer.logHasGrown(to: length) == nil, "\(length)")
            checkpointer.wait()
        }
        checkpointer.close()
        await store.close()
    }

    /// - Returns: how long the log has been, in bytes.
    private func write(to store: PageStore, _ folder: Folder) async throws -> Int {
        let query = try await store.register(QueryKey("list \(ObjectIdentifier(store))"), at: noon).id
        var longest = 0
        for number in 0..<600 {
            let content = PageContent([Item(payload: [UInt8](repeating: UInt8(ascii: "x"), count: 20_000), id: "i\(number)")])
            let edit = ListEdit.put(PageWrite(offset: number, content: content, evidence: .inferred))
            let plan = CommitPlan(query: query, version: ListVersion(generation: 1, revision: 0), edits: [edit])
            #expect(try await store.commit(plan) == .committed(plan.version))
            longest = max(longest, size(folder.store + "-wal"))
        }
        return longest
    }

    @Test("two that write without a pause, and a third that reads: the log stays as long as was said")
    func twoWriters() async throws {
        let folder = Folder()
        let stores = [try await store(folder, checkpointBytes: 50 * 4_096), try await store(folder, checkpointBytes: 50 * 4_096)]
        let isOver = Mutex(false)
        async let reading: Void = {
            while !isOver.withLock({ $0 }) { _ = try await stores[0].query(QueryKey("list")) }
        }()
        async let first = write(to: stores[0], folder)
        async let second = write(to: stores[1], folder)
        let longest = max(try await first, try await second)
        isOver.withLock { $0 = true }
        try await reading
        // Four times as long, and then some: a try may meet the other one's, or a reader, and the next is an eighth later. With tries that let
        // others commit meanwhile it grows to between 3.3 and 4.6 MB.
        #expect(longest < 12 * 50 * (4_096 + 24), "\(longest)")
        for store in stores { await store.close() }
    }

    @Test("a purge empties the log, also where another thread is merging it at that moment")
    func purge() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointBytes: 50 * 4_096)
        for round in 0..<40 {
            let query = try await store.register(QueryKey("list \(round)"), at: noon).id
            // The last of these begins a merge.
            for number in 0..<(10 + round % 5) { try commit(number, to: query, store) }
            _ = try await store.purge([query])
            #expect(size(folder.store + "-wal") == 0, "round \(round)")
        }
        await store.close()
    }

    @Test("an urgent emptying waits for another process that merges the log, no other does, and nobody for longer than the budget")
    func besideOthers() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointBytes: 1_000 * 4_096)
        let query = try await store.register(QueryKey("list"), at: noon).id
        for number in 0..<12 { try commit(number, to: query, store) }
        // A lock of another description is what another process's would be: byte 121 of the shared memory is that of whoever merges
        // (https://www.sqlite.org/walformat.html#wal_locks). It is not closed before the store: that would take SQLite's with it.
        let descriptor = open(folder.store + "-shm", O_RDWR)
        @Sendable func lock(_ kind: Int32) {
            var region = flock()
            region.l_type = Int16(kind)
            region.l_start = 121
            region.l_len = 1
            #expect(fcntl(descriptor, OwnerLock.setCommand, &region) == 0)
        }
        lock(F_WRLCK)
        try await store.withWriter { session throws(StorageError) in
            let connection = session.connection
            #expect(try !connection.emptyLog(isUrgent: false) { Issue.record("it waits") })
            connection.setBusyBudget(.zero)
            #expect(try !connection.emptyLog(isUrgent: true) { Issue.record("it waits, and has no budget") })
            connection.setBusyBudget(.seconds(60))
            var pauses = 0
            let isEmpty = try connection.emptyLog(isUrgent: true) {
                pauses += 1
                if pauses == 3 { lock(F_UNLCK) }
            }
            #expect(isEmpty && pauses == 3)
        }
        #expect(size(folder.store + "-wal") == 0)
        await store.close()
        close(descriptor)
    }

    @Test("a store that is closed while its log is merged leaves no log behind")
    func closing() async throws {
        for _ in 0..<20 {
            let folder = Folder()
            let store = try await store(folder, checkpointBytes: 20 * 4_096)
            let query = try await store.register(QueryKey("list"), at: noon).id
            for number in 0..<12 { try commit(number, to: query, store) }
            await store.close()
            #expect(!folder.contents.contains("store.sqlite-wal"))
        }
    }
}
