#if Tool
import Foundation
public import PageModel
import PageStore
public import ProgramSupport
public import StorageSupport

extension Folder {
    /// Runs the built tool on the store in this folder, as `Tool.run` does.
    public func tool(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", store], environment: environment)
    }

    /// Overwrites bytes of the store's file.
    public func overwrite(at offset: Int, _ bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    /// Writes a list into the store in this folder: page one, validated at noon.
    public func write(_ content: PageContent, as key: QueryKey = "list", total: ListTotal, and edits: [ListEdit] = [])
        async throws
    {
        let store = try await SQLitePageStore.openForTest(at: self.store)
        let record = try await store.register(key, at: noon)
        let page = PageWrite(offset: 0, content: content, evidence: .verified)
        _ = try await store.commit(
            CommitPlan(
                query: record.id, version: record.version,
                edits: [.insertPage(page), .setTotal(total)] + edits + [.validated])
        )
        await store.close()
    }

    /// Writes a list of 150 items whose last 50 are missing.
    public func writeListWithGap(_ key: QueryKey = "list") async throws {
        try await write(items(0..<100), as: key, total: .exact(150))
    }
}
#endif
