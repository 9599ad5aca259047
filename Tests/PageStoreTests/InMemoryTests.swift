import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("A store in memory")
struct InMemoryTests {
    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test("A store in memory holds lists, serves concurrent readers, and removes its files when it is closed")
    func closed() async throws {
        let store = try await SQLitePageStore.inMemory()
        let folder = URL(fileURLWithPath: store.path).deletingLastPathComponent().path
        let query = try await store.register(QueryKey("rows")).id
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let found = try await store.query(QueryKey("rows"))
                    #expect(found?.id == query)
                }
            }
            try await group.waitForAll()
        }
        #expect(exists(folder))
        await store.close()
        #expect(!exists(folder))
    }

    @Test("A number of readers outside its range is clamped, and the store opens", arguments: [Int.max, 0, .min])
    func readers(count: Int) async throws {
        let folder = Folder()
        var options = SQLitePageStore.Options()
        options.readers = count
        let store = try await SQLitePageStore.openForTest(at: folder.store, options: options)
        #expect(try await store.records().isEmpty)
        await store.close()
    }

    @Test("A store in memory that is not closed removes its files when it is no longer used", .timeLimit(.minutes(20)))
    func forgotten() async throws {
        var store: SQLitePageStore? = try await SQLitePageStore.inMemory()
        _ = try await store?.register(QueryKey("rows"))
        let path = try #require(store?.path)
        store = nil
        while exists(path) { await Task.yield() }
    }

    @Test("Each store in memory is a store of its own")
    func separate() async throws {
        let (one, two) = (try await SQLitePageStore.inMemory(), try await SQLitePageStore.inMemory())
        _ = try await one.register(QueryKey("rows"))
        #expect(try await two.query(QueryKey("rows")) == nil)
        await one.close()
        await two.close()
    }

    @Test("A store in memory removes the files of a process that was killed, and no others")
    func abandoned() async throws {
        let living = try await SQLitePageStore.inMemory()
        let base = URL(fileURLWithPath: living.path).deletingLastPathComponent().deletingLastPathComponent()
        let (left, beginning) = (
            base.appendingPathComponent("pagecache-memory-\(UUID().uuidString)").path,
            base.appendingPathComponent("pagecache-memory-\(UUID().uuidString)").path
        )
        for folder in [left, beginning] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        defer { try? FileManager.default.removeItem(atPath: beginning) }
        // A process makes the lock file right after the folder. Its lock ends with the process.
        for name in ["owner.lock", "store.sqlite"] {
            #expect(FileManager.default.createFile(atPath: "\(left)/\(name)", contents: nil))
        }
        let store = try await SQLitePageStore.inMemory()
        #expect(!exists(left))
        #expect(exists(beginning) && exists(living.path))
        await store.close()
        await living.close()
    }

    @Test("Stores that open and close at the same time do not remove each other's folders")
    func together() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let store = try await SQLitePageStore.inMemory()
                        _ = try await store.register(QueryKey("rows"))
                        await store.close()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
