import FaultVFS
import Foundation
import PageModel
import PageStore

/// Creates, fills and closes a store, and is killed at one of the file system calls.
enum KilledWriter {
    /// Prints each finished step on standard output. The process always ends.
    static func run(_ path: String, kind: UInt32, call: Int) async throws -> Never {
        guard fault_vfs_register() == 0,
            let control = fault_control_create((path as NSString).deletingLastPathComponent)
        else { exit(70) }
        fault_arm_death(control, fault_kind(kind), call)
        var options = SQLitePageStore.Options()
        options.fileSystem = "fault"
        options.checkpointBytes = 20 * 4_096
        let store = try await SQLitePageStore.open(at: path, mode: .createIfMissing, options: options)
        say("opened")
        var query = try await store.register(QueryKey("list"))
        for page in 0..<4 {
            let content = PageContent(
                (0..<20).map { index in
                    RawItem(payload: Array(repeating: UInt8(page), count: 500), id: "i\(page * 20 + index)")
                })
            let plan = CommitPlan(
                query: query.id, version: query.version,
                edits: [.insertPage(PageWrite(offset: page * 20, content: content, evidence: .inferred))],
                ledger: [.succeeded(offset: page * 20)])
            if case .committed(let version) = try await store.commit(plan) { query.version = version }
            say("\(page)")
        }
        await store.close()
        say("closed")
        exit(0)
    }

    private static func say(_ word: String) {
        FileHandle.standardOutput.write(Data("\(word)\n".utf8))
    }
}

/// A process that may read a store and not write to it.
enum ReadOnlyProcess {
    static func look(_ path: String) async throws -> Never {
        var result: [String: Any] = [:]
        do {
            let store = try await SQLitePageStore.open(at: path, mode: .readOnly)
            let summaries = try await store.summaries()
            result["lists"] = summaries.count
            result["items"] = summaries.first?.outline.coverage.count ?? 0
            do {
                _ = try await store.register(QueryKey("new"))
            } catch {
                result["writing"] = "\(error.code)"
            }
            await store.close()
        } catch {
            result["error"] = "\(error)"
        }
        print(String(decoding: try JSONSerialization.data(withJSONObject: result, options: .sortedKeys), as: UTF8.self))
        exit(0)
    }
}
