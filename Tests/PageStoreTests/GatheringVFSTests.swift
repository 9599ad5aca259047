import CSQLite
import FaultVFS
import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

@Suite("A log that is written with one call")
struct GatheringVFSTests {
    @Test("a page's commit is one write, and a lease is one")
    func one() async throws {
        let faulty = FaultyFolder()
        let store = try await PageStore.openForTest(at: faulty.folder.store, options: faulty.options)
        let query = try await store.register(QueryKey("list"), at: noon).id
        func commit(_ number: Int) async throws {
            let content = PageContent([Item(payload: [UInt8](repeating: 120, count: 20_000), id: "i\(number)")])
            let plan = CommitPlan(
                query: query, version: ListVersion(generation: 1, revision: 0), edits: [.put(PageWrite(offset: number, content: content, evidence: .inferred))])
            #expect(try await store.commit(plan) == .committed(plan.version))
        }
        try await commit(0)
        for number in 1..<10 {
            let before = fault_calls(faulty.control, FAULT_WRITE)
            try await commit(number)
            #expect(fault_calls(faulty.control, FAULT_WRITE) == before + 1)
            try await store.record([.hastened(offset: number)], for: query, at: noon)
            #expect(fault_calls(faulty.control, FAULT_WRITE) <= before + 2)
        }
        await store.close()
    }

    @Test(
        "transactions larger than the cache, savepoints, rollbacks and checkpoints, beside a program that knows nothing of it: the same rows",
        arguments: 1..<9 as Range<UInt64>)
    func others(seed: UInt64) throws {
        let folder = Folder()
        var random = SeededGenerator(seed: seed)
        let theirs = try Plain(folder.store)
        try theirs.execute("PRAGMA journal_mode = WAL; CREATE TABLE row (id INTEGER PRIMARY KEY, bytes BLOB)")
        let ours = try Connection(path: folder.store)
        // Ten pages, so that most transactions reach the log before their end.
        for connection in [ours.execute, theirs.execute] { try connection("PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0") }
        var model: [Int: Int] = [:]
        for round in 0..<120 {
            let isOurs = round % 3 != 0
            let execute = isOurs ? ours.execute : theirs.execute
            var changed = model
            try execute("BEGIN IMMEDIATE")
            for part in 0..<Int.random(in: 1..<5, using: &random) {
                try execute("SAVEPOINT part")
                var next = changed
                for _ in 0..<Int.random(in: 0..<12, using: &random) {
                    let (id, size) = (Int.random(in: 0..<40, using: &random), Int.random(in: 0..<30_000, using: &random))
                    try execute("REPLACE INTO row VALUES (\(id), zeroblob(\(size)))")
                    next[id] = size
                }
                // What reached the log already is read from there again.
                #expect(try sizes(isOurs ? ours : nil, theirs) == next, "\(round), \(part)")
                let isKept = Int.random(in: 0..<3, using: &random) > 0
                try execute(isKept ? "RELEASE part" : "ROLLBACK TO part; RELEASE part")
                if isKept { changed = next }
            }
            let isKept = Int.random(in: 0..<4, using: &random) > 0
            try execute(isKept ? "COMMIT" : "ROLLBACK")
            if isKept { model = changed }
            #expect(try sizes(nil, theirs) == model, "\(round)")
            #expect(try sizes(ours, theirs) == model, "\(round)")
            if round % 20 == 19 { try (round % 40 == 39 ? ours.execute : theirs.execute)("PRAGMA wal_checkpoint(TRUNCATE)") }
        }
        // Somebody who begins anew, and has to believe the log.
        try copy(folder.store, to: folder.path + "/copy")
        let copied = try Plain(folder.path + "/copy")
        #expect(try sizes(nil, copied) == model)
        #expect(try copied.numbers("PRAGMA integrity_check").isEmpty)
    }

    @Test("a write that fails, whichever it is, is told by the commit, and nothing of it is there; what follows is", arguments: [false, true])
    func failing(isForEver: Bool) throws {
        let faulty = FaultyFolder()
        let connection = try Connection(path: prepared(faulty.folder.store), fileSystem: "fault")
        try connection.execute("PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0")
        let fault = Fault(name: "the disk is full", kind: FAULT_WRITE, code: SQLITE_FULL, isForEver: isForEver, partial: 5_000)
        var (failures, rounds, kept) = (0, 0, 0)
        repeat {
            rounds += 1
            faulty.arm(fault, at: rounds)
            let isDone = (try? transaction(rounds, connection)) != nil
            #expect(isDone == (faulty.fired == 0), "\(rounds)")
            failures += isDone ? 0 : 1
            faulty.disarm()
            try? connection.execute("ROLLBACK")
            if isDone { kept = rounds }
            let theirs = try Plain(faulty.folder.store)
            #expect(try theirs.numbers("SELECT DISTINCT round, 0 FROM row") == (kept == 0 ? [:] : [kept: 0]), "\(rounds)")
            // Every other time somebody else writes where this one has failed.
            if rounds % 2 == 0 { try theirs.execute("REPLACE INTO row SELECT id, round, zeroblob(3000) FROM row") }
        } while kept == 0
        #expect(failures > 3, "\(failures)")
        try transaction(rounds + 1, connection)
        #expect(try Plain(faulty.folder.store).numbers("SELECT DISTINCT round, 0 FROM row") == [rounds + 1: 0])
    }

    @Test("on a file system that has no shared memory there is no log, as without it")
    func withoutSharedMemory() throws {
        let folder = Folder()
        #expect(GatheringVFS.name(over: "unix-none") == "pagecache-unix-none")
        try Data().write(to: URL(fileURLWithPath: folder.store))
        let connection = try Connection(path: folder.store, fileSystem: "unix-none")
        var journal = ""
        try connection.pragma("journal_mode = WAL") { row throws(StorageError) in journal = row.text(0) }
        #expect(journal == "delete")
        try connection.execute("CREATE TABLE row (id)")
        #expect(GatheringVFS.name(over: "no such thing") == nil)
    }

    private func prepared(_ path: String) throws -> String {
        try Plain(path).execute("PRAGMA journal_mode = WAL; CREATE TABLE row (id INTEGER PRIMARY KEY, round INTEGER, bytes BLOB)")
        return path
    }

    private func transaction(_ round: Int, _ connection: Connection) throws {
        try connection.execute("BEGIN IMMEDIATE")
        for id in 0..<80 { try connection.execute("REPLACE INTO row VALUES (\(id), \(round), zeroblob(4000))") }
        try connection.execute("COMMIT")
    }

    private func sizes(_ ours: Connection?, _ theirs: Plain) throws -> [Int: Int] {
        guard let ours else { return try theirs.numbers("SELECT id, length(bytes) FROM row") }
        var sizes: [Int: Int] = [:]
        try ours.each(SQL("SELECT id, length(bytes) FROM row")) { row throws(StorageError) in sizes[Int(row.int64(0))] = Int(row.int64(1)) }
        return sizes
    }

    private func copy(_ path: String, to target: String) throws {
        for ending in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + ending, toPath: target + ending) }
    }
}

/// A connection as any program opens it.
private final class Plain {
    private var handle: OpaquePointer?

    struct Failure: Error { var message: String }

    init(_ path: String) throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { throw failure }
        sqlite3_busy_timeout(handle, 1_000)
    }

    deinit { sqlite3_close(handle) }

    private var failure: Failure { Failure(message: String(cString: sqlite3_errmsg(handle))) }

    func execute(_ script: String) throws {
        guard sqlite3_exec(handle, script, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    /// The first column's numbers, each with the second one's. Rows of text are none.
    func numbers(_ text: String) throws -> [Int: Int] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK else { throw failure }
        var numbers: [Int: Int] = [:]
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                if sqlite3_column_type(statement, 0) == SQLITE_INTEGER {
                    numbers[Int(sqlite3_column_int64(statement, 0))] = Int(sqlite3_column_int64(statement, 1))
                } else if let text = sqlite3_column_text(statement, 0), String(cString: text) != "ok" {
                    throw Failure(message: String(cString: text))
                }
            case SQLITE_DONE: return numbers
            default: throw failure
            }
        }
    }
}
