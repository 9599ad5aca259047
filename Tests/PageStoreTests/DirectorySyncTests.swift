import Foundation
import PageModel
import StorageSupport
import Synchronization
import Testing

@testable import PageStore

/// The disk reports a failure when a directory is synced. Any other system call succeeds.
@Suite("Directories that cannot be synced")
struct DirectorySyncTests {
    private let folder = Folder()

    private final class Calls: Sendable {
        private let count = Mutex(0)

        /// Returns the number of this call. The first one has the number 1.
        func next() -> Int {
            count.withLock { count -> Int in
                count += 1
                return count
            }
        }
    }

    /// Runs `body`. The sync of a directory with this number fails, and so do those after it.
    private func failing<Value>(
        from first: Int = 1, with reason: Int32 = EIO, _ body: () async throws -> Value
    ) async throws -> Value {
        let calls = Calls()
        let sync: @Sendable (Int32) -> Int32 = { descriptor in
            guard calls.next() >= first else { return fsync(descriptor) }
            errno = reason
            return -1
        }
        return try await StoreFile.$syncEntries.withValue(sync) { try await body() }
    }

    private var setAside: [String] { folder.contents.filter { $0.contains(".corrupt-") } }

    @Test("A store or directory whose name is not on the disk is not created, and the next attempt creates it")
    func creation() async throws {
        for path in [folder.store, "\(folder.path)/one/two/store.sqlite"] {
            let error = await #expect(throws: StorageError.self) {
                try await failing { try await SQLitePageStore.openForTest(at: path) }
            }
            #expect(error?.code == .inputOutput)
            #expect(error?.message.contains("cannot sync the directory ") == true)
            #expect(!StoreFile.exists(path))
            #expect(!StoreFile.exists("\(folder.path)/one"))
            await (try await SQLitePageStore.openForTest(at: path)).close()
            #expect(StoreFile.exists(path))
        }
    }

    @Test("A store is created on a file system that cannot sync directories")
    func unsupported() async throws {
        await (try await failing(with: EINVAL) { try await SQLitePageStore.openForTest(at: folder.store) }).close()
        #expect(StoreFile.exists(folder.store))
    }

    @Test(
        "A repair keeps the old file until both names are on the disk, and reports a swap that a power loss may undo",
        arguments: [1, 2, 3])
    func salvage(call: Int) async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        await bench.store.close()
        let path = bench.folder.store
        try Connection(path: path).execute("DROP TABLE tally")
        let refused = await #expect(throws: StorageError.self) {
            try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        }
        let change = try #require(refused?.cause as? SchemaChange)
        let old = try #require(FileIdentity(path))
        let error = await #expect(throws: StorageError.self) {
            try await failing(from: call) { try await SQLitePageStore.salvage(at: path, from: change) }
        }
        #expect(error?.code == .inputOutput)
        let isSwapped = call == 3
        #expect(error?.message.contains("a power loss may undo that") == isSwapped)
        #expect((FileIdentity(path) == old) == !isSwapped)
        #expect(bench.folder.contents.contains { $0.contains(".corrupt-") } == isSwapped)
        #expect(!bench.folder.contents.contains { $0.contains(".repair-") })
        if !isSwapped { _ = try await SQLitePageStore.salvage(at: path, from: change) }
        let store = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        #expect(try await store.summaries().first?.outline.pages.count == 1)
        await store.close()
    }

    @Test("A set-aside renames nothing before the log has both names on the disk", arguments: [1, 2])
    func quarantine(call: Int) async throws {
        await (try await SQLitePageStore.openForTest(at: folder.store)).close()
        let error = await #expect(throws: StorageError.self) {
            try await failing(from: call) { try SQLitePageStore.setAside(at: folder.store, now: noon) }
        }
        #expect(error?.code == .inputOutput)
        #expect(StoreFile.exists(folder.store) == (call == 1))
        #expect(setAside.count == call - 1)
    }

    @Test("A file that is rewritten on a full disk is complete, also where its directory cannot be synced")
    func rewriting() async throws {
        let tree = try await DamagedTree(pages: 20)
        let full = StorageError(.full, "the disk is full")
        let error = await #expect(throws: StorageError.self) {
            try await failing {
                _ = try Recreation.rewrite(tree.path, SQLitePageStore.Options(), because: full) {
                    connection throws(StorageError) -> MemoryCopy in
                    let all = try Eviction(EvictionBudget(bytes: 0), exempt: [], at: noon, in: connection).remaining
                    return try MemoryCopy(of: connection, without: all, at: noon)
                }
            }
        }
        #expect(error?.code == .inputOutput)
        #expect(error?.message.contains("a power loss may undo that") == true)
        let store = try await tree.open()
        #expect(try await store.verify().isSound)
        #expect(try await store.outline(of: tree.query)?.pages.isEmpty == true)
        await store.close()
    }
}
