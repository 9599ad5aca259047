import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Opening a store")
struct OpeningTests {
    private let folder = Folder()

    private func open(_ path: String? = nil, _ mode: SQLitePageStore.Mode = .createIfMissing) async throws
        -> SQLitePageStore
    {
        try await SQLitePageStore.openForTest(at: path ?? folder.store, mode: mode)
    }

    private func permissions(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("A store creates its files with mode 0600 and missing directories with mode 0700 (R9)")
    func modes() async throws {
        let path = "\(folder.path)/a/b/store.sqlite"
        let store = try await open(path)
        _ = try await store.register(QueryKey("k"), at: noon)
        #expect(try permissions(path) == 0o600)
        #expect(try permissions(path + "-wal") == 0o600)
        #expect(try permissions(path + "-shm") == 0o600)
        #expect(try permissions("\(folder.path)/a") == 0o700)
        #expect(try permissions("\(folder.path)/a/b") == 0o700)
        await store.close()
    }

    @Test("A committed query is present after closing and opening the store again")
    func reopening() async throws {
        let first = try await open()
        let query = try await first.register(QueryKey("k", scope: "s"), at: noon)
        await first.close()
        let second = try await open(nil, .mustExist)
        #expect(try await second.query(QueryKey("k", scope: "s")) == query)
    }

    @Test("Opening a missing store with `mustExist` fails with not found and creates no file")
    func missing() async throws {
        #expect(await code { _ = try await open(nil, .mustExist) } == .notFound)
        #expect(await code { _ = try await open("\(folder.path)/no/such/store", .mustExist) } == .notFound)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test(
        "A process that stalls while it makes the store blocks an opener for the busy budget and no longer",
        arguments: [
            SQLitePageStore.Mode.createIfMissing, .mustExist, .readOnly,
        ])
    func standstill(mode: SQLitePageStore.Mode) async throws {
        await (try await open()).close()
        let other = try Connection(path: folder.store)
        // A new file is in this state until it switches to a write-ahead log. The switch takes all locks.
        try other.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
        var options = SQLitePageStore.Options()
        options.busyBudget = .seconds(2)
        let began = ContinuousClock.now
        #expect(
            await code { _ = try await SQLitePageStore.openForTest(at: folder.store, mode: mode, options: options) }
                == .busy)
        let took = began.duration(to: .now)
        // The budget is one for all attempts together. The upper bound is generous, because hundreds of other tests
        // compete for the processor. It is below the time of thirty attempts with a budget each.
        #expect(took >= options.busyBudget && took < .seconds(55), "\(took)")
        try other.execute("ROLLBACK")
    }

    @Test("A file that is not a store is refused and unchanged (R8)", arguments: ["text", "sqlite", "short"])
    func foreign(kind: String) async throws {
        switch kind {
        case "text":
            try String(repeating: "hello\n", count: 100).write(toFile: folder.store, atomically: true, encoding: .utf8)
        case "short": try "x".write(toFile: folder.store, atomically: true, encoding: .utf8)
        default:
            folder.createFile(folder.store)
            try Connection(path: folder.store).execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        for mode in [SQLitePageStore.Mode.mustExist, .createIfMissing] {
            #expect(await code { _ = try await open(nil, mode) } == .notAStore)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
    }

    @Test("A store with a newer schema is refused and unchanged (R8)")
    func newer() async throws {
        await (try open()).close()
        try Connection(path: folder.store).execute(
            "PRAGMA user_version = 4711; INSERT INTO migration VALUES (4711, 'n', 'c', 0)")
        try Connection(path: folder.store).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        #expect(await code { _ = try await open() } == .newerSchema)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
    }

    @Test(
        "A schema number that the tables and the records of the migrations disprove is damage, and not a newer schema",
        arguments: [-1, 0, 2, 3, 4711])
    func wrongNumber(version: Int) async throws {
        await (try open()).close()
        try Connection(path: folder.store).execute("PRAGMA user_version = \(version)")
        for mode in [SQLitePageStore.Mode.mustExist, .readOnly] {
            #expect(await code { _ = try await open(nil, mode) } == .damaged)
        }
    }

    @Test(
        "A lock that SQLite does not get for ten seconds is busy, and a failed lock is an error of the file system",
        arguments: [
            (15, StorageError.Code.busy), (3850, .inputOutput), (2314, .inputOutput), (2058, .inputOutput),
            (3594, .inputOutput), (5130, .inputOutput), (5, .busy), (261, .busy),
        ] as [(Int32, StorageError.Code)])
    func locks(code: Int32, meaning: StorageError.Code) {
        errno = EAGAIN
        #expect(StorageError.sqlite(code, doing: "reading", path: "/s", handle: nil).code == meaning)
        errno = ENOLCK
        if code == 15 {
            #expect(StorageError.sqlite(code, doing: "reading", path: "/s", handle: nil).code == .inputOutput)
        }
        errno = EMFILE
        let error = StorageError.sqlite(14, doing: "opening", path: "/s", handle: nil)
        #expect(error.code == .inputOutput)
        #expect(error.message.contains("ulimit -n"))
    }

    @Test("When SQLite cannot open a store, the path that lacks a permission is named")
    func denied() {
        let path = folder.store
        func named(_ denied: (path: String, access: Int32)...) -> String? {
            StoreFile.deniedPath(of: path) { checked, access in
                denied.contains { $0.path == checked && $0.access == access }
            }
        }
        #expect(named() == nil)
        #expect(named((path, W_OK), (path + "-wal", R_OK)) == path + "-wal")
        #expect(named((path, W_OK), (path + "-journal", W_OK)) == path + "-journal")
        #expect(named((path, W_OK)) == path)
        // The shared memory would be created in this directory.
        #expect(named((path, W_OK), (folder.path, W_OK)) == folder.path)
        folder.createFile(path + "-shm")
        #expect(named((path, W_OK), (folder.path, W_OK)) == path)
        #expect(named((path, R_OK), (path + "-shm", R_OK)) == path + "-shm")
        #expect(!StoreFile.isDenied("\(folder.path)/missing", R_OK))
    }

    @Test(
        "A store with a trigger, a view or a foreign table is refused (R46)",
        arguments: [
            "CREATE TRIGGER t AFTER INSERT ON query BEGIN DELETE FROM page; END",
            "CREATE VIEW v AS SELECT 1",
            "CREATE TABLE extra (a)",
            "DROP TABLE page; CREATE VIEW page AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT x FROM r",
        ])
    func hostile(script: String) async throws {
        await (try open()).close()
        try Connection(path: folder.store).execute(script)
        #expect(await code { _ = try await open() } == .notAStore)
    }

    @Test("A directory, a FIFO and a dangling link are refused with a clear error")
    func specialFiles() async throws {
        #expect(await code { _ = try await open(folder.path) } == .notAStore)
        let fifo = "\(folder.path)/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        #expect(await code { _ = try await open(fifo) } == .notAStore)
        let link = "\(folder.path)/link"
        let target = "\(folder.path)/nowhere/store.sqlite"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(await code { _ = try await open(link) } == .danglingLink)
        #expect(await code { _ = try await open(link, .readOnly) } == .danglingLink)
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/nowhere"))
        // A link to a missing file is followed only to create the store there.
        try FileManager.default.createDirectory(atPath: "\(folder.path)/nowhere", withIntermediateDirectories: false)
        #expect(await code { _ = try await open(link, .mustExist) } == .notFound)
        #expect(!FileManager.default.fileExists(atPath: target))
        await (try open(link)).close()
        #expect(FileManager.default.fileExists(atPath: target))
    }

    @Test("A store's path may be a link of the same user, and a link of another user is refused (R9)")
    func links() async throws {
        await (try open()).close()
        let link = "\(folder.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.store)
        await (try open(link)).close()
        // Only root can change the owner of a link. Other users cannot break the rule in a test.
        guard geteuid() == 0 else { return }
        #expect(lchown(link, 65_534, 65_534) == 0)
        #expect(await code { _ = try await open(link) } == .permission)
    }

    @Test("A file with a second hard link is refused, because its log would be next to only one of the names")
    func hardLink() async throws {
        await (try await open()).close()
        #expect(link(folder.store, "\(folder.path)/second") == 0)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        for path in [folder.store, "\(folder.path)/second"] {
            #expect(await code { _ = try await open(path) } == .notAStore)
            #expect(await code { _ = try await open(path, .readOnly) } == .notAStore)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
        #expect(unlink("\(folder.path)/second") == 0)
        await (try await open()).close()
    }

    @Test("A store whose creator was killed before it wrote a table is not found by a reader, and opens for writing")
    func stamped() async throws {
        #expect(FileManager.default.createFile(atPath: folder.store, contents: nil))
        try Connection(path: folder.store).execute(
            "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = \(StoreFile.applicationID)")
        #expect(await code { _ = try await open(nil, .readOnly) } == .notFound)
        let store = try await open()
        _ = try await store.register(QueryKey("k"), at: noon)
        await store.close()
    }

    @Test(
        "A store without a version, or with foreign tables, is refused before its journal mode changes (R46)",
        arguments: [
            "CREATE TABLE migration (version)", "CREATE TABLE theirs (a)",
        ])
    func halfMade(statement: String) async throws {
        #expect(FileManager.default.createFile(atPath: folder.store, contents: nil))
        try Connection(path: folder.store).execute("PRAGMA application_id = \(StoreFile.applicationID); \(statement)")
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        #expect(await code { _ = try await open() } == .notAStore)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
    }

    @Test("A store cannot be created below a file")
    func belowAFile() async throws {
        folder.createFile("\(folder.path)/file", "x")
        #expect(await code { _ = try await open("\(folder.path)/file/store.sqlite") } == .cannotCreate)
    }

    @Test("An empty file of a process that was killed right after creating it opens as a store")
    func blankFile() async throws {
        folder.createFile(folder.store)
        await (try open(nil, .mustExist)).close()
    }

    @Test("Eight tasks that open a new store at the same time all succeed, and register one list")
    func race() async throws {
        let path = folder.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = try await SQLitePageStore.openForTest(at: path, mode: .createIfMissing)
                    _ = try await store.register(QueryKey("k"), at: noon)
                    await store.close()
                }
            }
            try await group.waitForAll()
        }
        let store = try await open(nil, .mustExist)
        #expect(try await store.summaries().count == 1)
    }
}

@Suite("Migrations")
struct MigrationTests {
    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Migrations")

    @Test("The migration catalogue matches the folder, in order")
    func catalogue() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
            .sorted()
        #expect(Migration.catalogue.map(\.name) == files)
        #expect(Migration.catalogue.map(\.version) == Array(1...files.count))
        for migration in Migration.catalogue {
            #expect(migration.script == Array(try Data(contentsOf: folder.appendingPathComponent(migration.name))))
            #expect(migration.name.hasPrefix("v000\(migration.version)_"))
        }
    }

    @Test("The checksums of the migrations match the recorded ones, so a released migration never changes")
    func checksums() throws {
        let written = try String(contentsOf: folder.appendingPathComponent("CHECKSUMS"), encoding: .utf8)
        let now = Migration.catalogue.map { "\($0.checksum)  \($0.name)\n" }.joined()
        #expect(written == now, "if no release contains it yet: (cd Migrations && xxh64sum *.sql > CHECKSUMS)")
    }
}
