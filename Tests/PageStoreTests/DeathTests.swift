#if Tool
import FaultVFS
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing

/// A process is killed in place of each call to the file system, while it creates, migrates, fills and closes a store
/// (R31, G5).
@Suite("kill -9")
struct DeathTests {
    private static let kinds: [(String, fault_kind)] = [
        ("opening a file", FAULT_OPEN), ("reading", FAULT_READ), ("writing", FAULT_WRITE), ("syncing", FAULT_SYNC),
        ("truncating", FAULT_TRUNCATE), ("locking", FAULT_LOCK), ("deleting", FAULT_DELETE),
        ("mapping shared memory", FAULT_SHM_MAP), ("locking shared memory", FAULT_SHM_LOCK),
    ]

    @Test(
        "A store whose process is killed at any file system call opens with every acknowledged commit and no partial one",
        arguments: 0..<kinds.count)
    func death(kind: Int) async throws {
        let (name, fault) = DeathTests.kinds[kind]
        var deaths = 0
        for call in 1... {
            let folder = Folder()
            let path = folder.realPath + "/store.sqlite"
            let ended = try await Program.run(
                Program.built("StoreWorker"), ["die", path, "\(call)", "\(fault.rawValue)"])
            let lines = ended.output.split(separator: "\n")
            if ended.status == 0 {
                #expect(lines.last == "closed")
                break
            }
            try #require(ended.status == SIGKILL, "\(ended.output) \(ended.errors)")
            deaths += 1
            let acknowledged = lines.compactMap { Int($0) }.count
            let store = try await SQLitePageStore.openForTest(at: path, mode: .createIfMissing)
            let report = try await store.verify()
            #expect(report.isSound, "\(name) \(call): \(report.findings)")
            let query = try await store.register(QueryKey("list"), at: noon)
            let list = try #require(try await store.outline(of: query.id))
            // The commit that was under way is stored as a whole or not at all.
            #expect([acknowledged * 20, (acknowledged + 1) * 20].contains(list.coverage.count), "\(name) \(call)")
            #expect(list.ledger.count == list.coverage.count / 20, "\(name) \(call)")
            // The journal has one row for each stored commit and no other rows (R48, R51).
            #expect(list.contentVersion.counter == 1 + list.coverage.count / 20, "\(name) \(call)")
            await store.close()
        }
        #expect(deaths > 0, "no call was replaced: \(name)")
        print("kill -9 instead of \(name): \(deaths) moments")
    }
}
#endif
