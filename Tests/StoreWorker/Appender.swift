import FaultVFS
import Foundation
import PageModel
import PageStore

/// One of several processes that commit pages without a pause, each to its own list. The log is therefore merged and
/// restarted continually.
enum Appender {
    /// Returns content that differs between pages, also in size. A page of one commit cannot be mistaken for another.
    static func content(_ list: String, _ page: Int) -> PageContent {
        let size = page % 5 == 0 ? 3_000 : page % 3 == 0 ? 100 : 700
        return PageContent(
            (0..<10).map { index in
                var byte = UInt8(truncatingIfNeeded: page &* 31 &+ index)
                let payload = (0..<size).map { _ -> UInt8 in
                    byte = byte &* 73 &+ 41
                    return byte
                }
                return RawItem(payload: payload, id: "\(list)-\(page)-\(index)")
            })
    }

    private static func options(threshold: Int, microseconds: UInt32, of path: String) -> SQLitePageStore.Options {
        var options = SQLitePageStore.Options()
        options.checkpointBytes = threshold
        if microseconds > 0 {
            guard fault_vfs_register() == 0,
                let control = fault_control_create((path as NSString).deletingLastPathComponent)
            else { exit(70) }
            fault_hesitate(control, microseconds)
            options.fileSystem = "fault"
        }
        return options
    }

    /// Commits this many pages, and prints each number after its commit is acknowledged.
    static func run(_ arguments: [String]) async throws -> Never {
        let (path, list) = (arguments[2], arguments[4])
        let options = options(threshold: Int(arguments[5])!, microseconds: UInt32(arguments[6])!, of: path)
        let store = try await SQLitePageStore.open(at: path, options: options)
        let query = try await store.register(QueryKey(list))
        for page in 0..<Int(arguments[3])! {
            try await commit(page, list, query, store)
            print(page)
        }
        await store.close()
        exit(0)
    }

    /// Merges the log without the write lock as often as possible, which the store itself never does.
    static func mergeUnlocked(_ arguments: [String], seconds: Double) throws -> Never {
        _ = options(threshold: 1, microseconds: UInt32(arguments[5])!, of: arguments[2])
        exit(fault_merge_unlocked(arguments[2], Int(seconds * 1_000)) == 0 ? 0 : 70)
    }

    /// Commits for this long, from the moment on at which the store has two lists, and prints the number of committed pages.
    static func rate(_ arguments: [String], seconds: Double) async throws -> Never {
        let store = try await SQLitePageStore.open(at: arguments[2])
        let query = try await store.register(QueryKey(arguments[4]))
        // A process that has begun alone would have got commits without competition.
        while try await store.records().count < 2 {}
        let end = Date().addingTimeInterval(seconds)
        var page = 0
        while Date() < end {
            try await commit(page, arguments[4], query, store)
            page += 1
        }
        await store.close()
        print(#"{"commits":\#(page)}"#)
        exit(0)
    }

    private static func commit(_ page: Int, _ list: String, _ query: QueryRecord, _ store: SQLitePageStore) async throws
    {
        let plan = CommitPlan(
            query: query.id, version: query.version,
            edits: [.insertPage(PageWrite(offset: page * 10, content: content(list, page), evidence: .inferred))],
            ledger: [.succeeded(offset: page * 10)])
        guard case .committed = try await store.commit(plan) else {
            throw StorageError(.internal, "the plan was refused")
        }
    }
}
