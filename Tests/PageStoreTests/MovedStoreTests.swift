import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("The message about a moved store")
struct MovedStoreTests {
    private let folder = Folder()

    enum Accident: CaseIterable {
        case removed, replaced, log, sharedMemory

        /// The file that the message names, and what it says about that file.
        var message: (suffix: String, end: String) {
            switch self {
            case .removed: ("", " was renamed or removed while")
            case .replaced: ("", " was replaced by another file while")
            case .log: ("-wal", " beside the store was removed while")
            case .sharedMemory: ("-shm", " beside the store was replaced while")
            }
        }
    }

    @Test("The error names the file that is gone, and says whether another one is there", arguments: Accident.allCases)
    func message(accident: Accident) async throws {
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .createIfMissing)
        _ = try await store.register(QueryKey("ours"), at: noon)
        let path = store.path
        switch accident {
        case .removed: #expect(unlink(path) == 0)
        case .replaced:
            folder.createFile(path + ".new")
            #expect(rename(path + ".new", path) == 0)
        case .log: #expect(unlink(path + "-wal") == 0)
        case .sharedMemory:
            folder.createFile(path + ".new")
            #expect(rename(path + ".new", path + "-shm") == 0)
        }
        let expected = path + accident.message.suffix + accident.message.end
        let written = try await store.withWriter { session throws(StorageError) in
            session.connection.explained(.moved(session.connection.path)).message
        }
        #expect(written.hasPrefix(expected), "\(written)")
        // Where the log or the shared memory is missing, a first read makes SQLite create another one.
        if accident == .removed || accident == .replaced { #expect(await firstError(of: store)?.code == .moved) }
        await store.close()
    }

    /// Reads until a read fails. A reader that saw the file in its place within the last 100 ms does not look again.
    private func firstError(of store: SQLitePageStore) async -> StorageError? {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            do throws(StorageError) { _ = try await store.records() } catch { return error }
        }
        return nil
    }

    @Test("A read notices a removed store, and names it")
    func reader() async throws {
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .createIfMissing)
        _ = try await store.records()
        #expect(unlink(store.path) == 0)
        let message = await firstError(of: store)?.message
        #expect(message?.hasPrefix("\(store.path) was renamed or removed while") == true, "\(message ?? "no error")")
        await store.close()
    }
}
