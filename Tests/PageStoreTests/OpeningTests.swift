import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Opening a store")
struct OpeningTests {
    private let folder = Folder()

    private func open(_ path: String? = nil, _ mode: PageStore.Mode = .createIfMissing) async throws -> PageStore {
        try await PageStore.openForTest(at: path ?? folder.store, mode: mode)
    }

    private func code(_ body: () async throws -> Void) async -> StorageError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? StorageError)?.code
        }
    }

    private func permissions(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("R9: the files are 0600, directories that were missing 0700")
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

    @Test("what was committed is there after closing and opening again")
    func reopening() async throws {
        let first = try await open()
        let query = try await first.register(QueryKey("k", scope: "s"), at: noon)
        await first.close()
        let second = try await open(nil, .mustExist)
        #expect(try await second.query(QueryKey("k", scope: "s")) == query)
    }

    @Test("no store, and none wanted: not found, and none is made")
    func missing() async throws {
        #expect(await code { _ = try await open(nil, .mustExist) } == .notFound)
        #expect(await code { _ = try await open("\(folder.path)/no/such/store", .mustExist) } == .notFound)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test(
        "a process that stands still while it makes the store keeps others for the busy budget, and no longer",
        arguments: [
            PageStore.Mode.createIfMissing, .mustExist, .readOnly,
        ])
    func standstill(mode: PageStore.Mode) async throws {
        await (try await open()).close()
        let other = try Connection(path: folder.store)
        // As the file is before it is switched to a write-ahead log, which takes all locks.
        try other.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
        var options = PageStore.Options()
        options.busyBudget = .seconds(2)
        let began = ContinuousClock.now
        #expect(
            await code { _ = try await PageStore.openForTest(at: folder.store, mode: mode, options: options) } == .busy)
        let took = began.duration(to: .now)
        // Each of thirty attempts once waited that long itself. Hundreds of other tests want the processor, too.
        #expect(took >= options.busyBudget && took < .seconds(30), "\(took)")
        try other.execute("ROLLBACK")
    }

    @Test("R8: a file that is not a store is refused and untouched", arguments: ["text", "sqlite", "short"])
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
        for mode in [PageStore.Mode.mustExist, .createIfMissing] {
            #expect(await code { _ = try await open(nil, mode) } == .notAStore)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
    }

    @Test("R8: a store of a newer schema is refused and untouched")
    func newer() async throws {
        await (try open()).close()
        try Connection(path: folder.store).execute("PRAGMA user_version = 4711")
        try Connection(path: folder.store).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        #expect(await code { _ = try await open() } == .newerSchema)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
    }

    @Test(
        "R46: a store with a trigger, a view or another table is refused",
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

    @Test("a directory, a FIFO and a dangling link are refused clearly")
    func specialFiles() async throws {
        #expect(await code { _ = try await open(folder.path) } == .notAStore)
        let fifo = "\(folder.path)/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        #expect(await code { _ = try await open(fifo) } == .notAStore)
        let link = "\(folder.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(folder.path)/nowhere")
        #expect(await code { _ = try await open(link) } == .notFound)
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/nowhere"))
    }

    @Test("R9: one's own link is followed; somebody else's is refused")
    func links() async throws {
        await (try open()).close()
        let link = "\(folder.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.store)
        await (try open(link)).close()
        // Only root can give a link away; elsewhere the rule cannot be broken in a test.
        guard geteuid() == 0 else { return }
        #expect(lchown(link, 65_534, 65_534) == 0)
        #expect(await code { _ = try await open(link) } == .permission)
    }

    @Test("a file with a second name is refused: its log would lie beside one of them only")
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

    @Test("a store whose maker was killed before there was anything in it: nothing to read yet, and it can be filled")
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
        "R46: a store of no version, or of another's tables, is refused before its journal mode is changed",
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

    @Test("a path below a file cannot be made")
    func belowAFile() async throws {
        folder.createFile("\(folder.path)/file", "x")
        #expect(await code { _ = try await open("\(folder.path)/file/store.sqlite") } == .cannotCreate)
    }

    @Test("a process that died right after making the file leaves one that opens")
    func blankFile() async throws {
        folder.createFile(folder.store)
        await (try open(nil, .mustExist)).close()
    }

    @Test("many openers of a new store at once: all succeed, and the schema is made once")
    func race() async throws {
        let path = folder.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = try await PageStore.openForTest(at: path, mode: .createIfMissing)
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

    @Test("the catalogue is the folder, in order")
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

    @Test("the checksums are those written down; a released migration never changes")
    func checksums() throws {
        let written = try String(contentsOf: folder.appendingPathComponent("CHECKSUMS"), encoding: .utf8)
        let now = Migration.catalogue.map { "\($0.checksum)  \($0.name)\n" }.joined()
        #expect(written == now, "if no release has it yet: (cd Migrations && xxh64sum *.sql > CHECKSUMS)")
    }
}
