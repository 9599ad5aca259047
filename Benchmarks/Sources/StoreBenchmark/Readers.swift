import Foundation
import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide
import Synchronization

/// Reads while another thread, or another process, commits without a pause (R42).
enum Readers {
    static let name = "reads under a writer"
    private static let pages = 2_000

    static func run(rounds: Int) async throws {
        try await TwoStores.with { stores in
            Pair.header(name)
            let list = try await stores.fill("read", pages: pages)
            try await measure("no writer", stores, list, rounds)
            try await underThread(stores, list, rounds)
            try await underProcess(stores, list, rounds)
        }
    }

    private static func measure(_ words: String, _ stores: TwoStores, _ list: TwoStores.List, _ rounds: Int)
        async throws
    {
        let pair = Pair(name, "read a page, \(words)")
        try await Sizes.reads(stores, [list], pages, Material(), pair, rounds: rounds)
    }

    /// Each store has its own writer, one commit of each in turn: so both readers see the same load.
    private static func underThread(_ stores: TwoStores, _ list: TwoStores.List, _ rounds: Int) async throws {
        let (store, directory) = (stores.store, stores.directory)
        let writer = RunningThread { goesOn in
            do {
                let limit = try TwoStores.openLimit(in: directory)
                let load = try Load(store: store, limit: limit)
                while goesOn() { try load.commit() }
                limit_close(limit)
            } catch {
                fatalError("\(error)")
            }
        }
        try await measure("another thread commits", stores, list, rounds)
        writer.end()
    }

    private static func underProcess(_ stores: TwoStores, _ list: TwoStores.List, _ rounds: Int) async throws {
        let process = Process()
        process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["--write", stores.directory]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        // Its first byte says that it writes.
        try expect(try pipe.fileHandleForReading.read(upToCount: 1)?.count == 1, "a process that writes")
        try await measure("another process commits", stores, list, rounds)
        process.terminate()
        process.waitUntilExit()
    }

    /// Commits to both stores until it is ended.
    static func write(in directory: String) async throws -> Never {
        let store = try await SQLitePageStore.open(at: TwoStores.path(in: directory), mode: .mustExist)
        let load = try Load(store: store, limit: try TwoStores.openLimit(in: directory))
        FileHandle.standardOutput.write(Data([1]))
        while true { try load.commit() }
    }
}

/// Commits one page again and again, each time with other items.
private final class Load {
    private let direct: SynchronousAccess
    private let limit: OpaquePointer
    private let query: QueryID
    private let limitQuery: Int64
    private let editions: [Material.Prepared]
    private var round = 0

    init(store: SQLitePageStore, limit: OpaquePointer) throws {
        direct = store.synchronously
        self.limit = limit
        // The list that is read is there already; this one is next to it.
        limitQuery = limit_register(limit, "read")
        guard let query = try direct.query(QueryKey("read")) else { throw Unexpected("expected: the list") }
        self.query = query.id
        editions = (0..<2).map { Material().prepared(100_000, edition: $0) }
    }

    func commit() throws {
        round += 1
        let page = editions[round % 2]
        let (offset, clock) = (5_000_000, Timestamp(milliseconds: 1_900_000_000_000 + Int64(round)))
        let write = PageWrite(offset: offset, content: page.content, evidence: .inferred)
        let edits: [ListEdit] =
            round == 1 ? [.insertPage(write)] : [.rearrange(.replacing(offset..<offset + 50, with: write))]
        let version = ListVersion(generation: 1, revision: 0)
        _ = try direct.commit(CommitPlan(query: query, version: version, edits: edits))
        let function = round == 1 ? limit_commit_page : limit_replace_page
        let code = page.content.bytes.withUnsafeBytes { payload in
            page.hashes.withUnsafeBytes { hashes in
                function(
                    limit, limitQuery, Int64(offset), 50, page.layout, page.layout.count, payload.baseAddress!,
                    payload.count,
                    hashes.baseAddress!, hashes.count, 0, 1, clock.milliseconds)
            }
        }
        // A second writer finds what the first one left.
        precondition(code == 0 || round == 1, String(cString: limit_error(limit)))
    }
}

/// A thread that runs until it is told to end.
private final class RunningThread: Sendable {
    private let isOver = Atomic(false)
    private let left = DispatchSemaphore(value: 0)

    /// - Parameter body: called on the thread, with what tells whether to continue.
    init(_ body: @escaping @Sendable (() -> Bool) -> Void) {
        Thread.detachNewThread { [self] in
            body { !isOver.load(ordering: .relaxed) }
            left.signal()
        }
    }

    /// Tells it, and waits until it has ended.
    func end() {
        isOver.store(true, ordering: .relaxed)
        left.wait()
    }
}
