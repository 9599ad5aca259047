#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

@Suite("The hint at a moved store")
struct MovedStoreHintTests {
    private let folder = Folder()

    /// The failure that the tool reports for a read, after `accident` has happened to the files of a store.
    private func failureOfReads(_ accident: (String) -> Void) async throws -> ToolFailure {
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .createIfMissing)
        _ = try await store.records()
        accident(store.path)
        // A reader that saw the files in their place within the last 100 ms does not look again.
        let end = ContinuousClock.now + .seconds(120)
        var failure: ToolFailure?
        while failure == nil, ContinuousClock.now < end {
            do throws(StorageError) { _ = try await store.records() } catch { failure = ToolFailure(error) }
        }
        await store.close()
        return try #require(failure)
    }

    @Test("Where no store is left, the hint does not advise to run a command that would create an empty one")
    func removed() async throws {
        let failure = try await failureOfReads { _ = unlink($0) }
        #expect(failure.status == .incomplete)
        #expect(failure.hint == "'pagecache sync URL' creates a new store if there is none at this path")
        #expect(failure.message.hasSuffix("was renamed or removed while it was open"), "\(failure.message)")
    }

    @Test("Where another file is at the path, the hint names that file")
    func replaced() async throws {
        let failure = try await failureOfReads { path in
            folder.createFile(path + ".new")
            _ = rename(path + ".new", path)
        }
        #expect(failure.hint == "run the command again to use the file that is at this path now")
    }

    @Test("Where the link leads to another store now, the message names it, and the hint is to run the command again")
    func link() async throws {
        let (link, other) = ("\(folder.path)/link", "\(folder.path)/other.sqlite")
        for path in [folder.store, other] { await (try await SQLitePageStore.openForTest(at: path)).close() }
        #expect(symlink(folder.store, link) == 0)
        let store = try await SQLitePageStore.openForTest(at: link, mode: .mustExist)
        #expect(unlink(link) == 0)
        #expect(symlink(other, link) == 0)
        let thrown = await #expect(throws: StorageError.self) { try await store.closeInPlace() }
        let error = try #require(thrown)
        #expect(error.message.hasPrefix("the target of \(link) was replaced by another file"), "\(error.message)")
        #expect(ToolFailure(error)?.hint == "run the command again to use the file that is at this path now")
    }

    @Test("A sync whose link leads to another store at its end prints no result beside the error")
    func noResult() async throws {
        let (link, other) = ("\(folder.path)/link", "\(folder.path)/other.sqlite")
        for path in [folder.store, other] { await (try await SQLitePageStore.openForTest(at: path)).close() }
        #expect(symlink(folder.store, link) == 0)
        let origin = DemoOrigin(count: 250) { _, _ in
            unlink(link)
            _ = symlink(other, link)
            return nil
        }
        try await withOrigin(origin) { root in
            let ended = try await Tool.run(["sync", "\(root)/items", "--store", link])
            #expect(ended.status == 75, "\(ended.errors)")
            #expect(ended.output.isEmpty, "\(ended.output)")
            #expect(ended.errors.contains("the target of \(link) was replaced by another file"), "\(ended.errors)")
        }
    }

    @Test("Where only the log is gone, the hint is to end the processes with the old one")
    func log() async throws {
        let failure = try await failureOfReads { _ = unlink($0 + "-wal") }
        #expect(failure.message.contains("-wal beside the store was removed"), "\(failure.message)")
        #expect(failure.hint == "end the processes that use the store, and run the command again")
    }
}
#endif
