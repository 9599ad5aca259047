import Foundation
import PageModel
import StorageSupport
import Synchronization
import Testing

@testable import PageStore

@Suite("The log is merged beside the commits")
struct CheckpointTests {
    private func store(_ folder: Folder, checkpointPages: Int) async throws -> PageStore {
        var options = PageStore.Options()
        options.checkpointPages = checkpointPages
        return try await PageStore.open(at: folder.store, options: options, now: noon)
    }

    private func size(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private func commit(_ number: Int, to query: QueryID, _ store: PageStore) throws {
        let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 20_000)
        let content = PageContent([Item(payload: payload, id: "i\(number)")])
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0), at: noon,
            edits: [.put(PageWrite(offset: number, content: content, evidence: .inferred))])
        #expect(try store.synchronously.commit(plan) == .committed(plan.version))
    }

    @Test("what was committed gets into the file while others write on, and the log stays as long as was said")
    func bounded() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointPages: 50)
        let query = try await store.register(QueryKey("list"), at: noon).id
        var longest = 0
        for number in 0..<600 {
            try commit(number, to: query, store)
            longest = max(longest, size(folder.store + "-wal"))
        }
        store.checkpointer.wait()
        // Four times as many pages, and what comes while another thread is at it: a page has a header of 24 bytes in the log.
        #expect(longest < 10 * 50 * (4_096 + 24), "\(longest)")
        #expect(size(folder.store) > 600 * 20_000 / 2, "the larger part is in the file")
        await store.close()
    }

    @Test("the first thread to find it long is not the one that merges it, unless it is far too long")
    func whose() {
        let opened = Mutex(0)
        let checkpointer = Checkpointer(pages: 100) { () throws(StorageError) in
            opened.withLock { $0 += 1 }
            throw StorageError(.inputOutput, "there is no file")
        }
        #expect(!checkpointer.logHasGrown(to: 99))
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 0)
        for size in [100, 150, 199] {
            #expect(!checkpointer.logHasGrown(to: size))
            checkpointer.wait()
        }
        #expect(opened.withLock { $0 } == 1, "once for every hundred")
        #expect(!checkpointer.logHasGrown(to: 200))
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 2, "what failed is tried again")
        #expect(checkpointer.logHasGrown(to: 400))
        #expect(!checkpointer.logHasGrown(to: 7))
        #expect(!checkpointer.logHasGrown(to: 107), "it began anew")
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 3)
        checkpointer.close()
        #expect(!checkpointer.logHasGrown(to: 207))
        checkpointer.wait()
        #expect(opened.withLock { $0 } == 3, "nothing begins after the end")
    }

    @Test("a purge empties the log, also where another thread is merging it at that moment")
    func purge() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointPages: 50)
        for round in 0..<40 {
            let query = try await store.register(QueryKey("list \(round)"), at: noon).id
            // The last of these begins a merge.
            for number in 0..<(10 + round % 5) { try commit(number, to: query, store) }
            _ = try await store.purge([query])
            #expect(size(folder.store + "-wal") == 0, "round \(round)")
        }
        await store.close()
    }

    @Test("a purge waits for another process that merges the log")
    func purgeBesideOthers() async throws {
        let folder = Folder()
        let store = try await store(folder, checkpointPages: 1_000)
        let query = try await store.register(QueryKey("list"), at: noon).id
        for number in 0..<12 { try commit(number, to: query, store) }
        // Locks of another descriptor's are what another process's would be: byte 121 of the shared memory is that of whoever merges
        // (https://www.sqlite.org/walformat.html#wal_locks).
        let descriptor = open(folder.store + "-shm", O_RDWR)
        var held = flock()
        held.l_type = Int16(F_WRLCK)
        held.l_start = 121
        held.l_len = 1
        #expect(fcntl(descriptor, OwnerLock.setCommand, &held) == 0)
        let region = held
        let notices = store.notices(of: query)
        let ending = Task.detached {
            for await notice in notices {
                guard case .changed(let set) = notice, set.changes.contains(.purged) else { continue }
                // Not closed: that would take SQLite's locks on the file with it.
                var region = region
                region.l_type = Int16(F_UNLCK)
                _ = fcntl(descriptor, OwnerLock.setCommand, &region)
                return
            }
        }
        _ = try await store.purge([query])
        #expect(size(folder.store + "-wal") == 0)
        await ending.value
        await store.close()
        close(descriptor)
    }

    @Test("a store that is closed while its log is merged leaves no log behind")
    func closing() async throws {
        for _ in 0..<20 {
            let folder = Folder()
            let store = try await store(folder, checkpointPages: 20)
            let query = try await store.register(QueryKey("list"), at: noon).id
            for number in 0..<12 { try commit(number, to: query, store) }
            await store.close()
            #expect(!folder.contents.contains("store.sqlite-wal"))
        }
    }
}
