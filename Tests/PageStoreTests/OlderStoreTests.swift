import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// A store of an older schema is migrated in place (R8). No older schema was released, so these tests add a step.
@Suite("Stores of an older schema")
struct OlderStoreTests {
    private static let step = Migration(
        version: 2, name: "v0002_later.sql", script: Array("CREATE TABLE later (a INTEGER) STRICT;".utf8))

    /// Runs `body` as the next version of this package would.
    private func later(_ body: () async throws -> Void) async throws {
        try await Migration.$catalogue.withValue(Migration.catalogue + [Self.step]) { try await body() }
    }

    @Test("A reader of the next version migrates a store with its lists, and this version then refuses it unchanged")
    func migrated() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        let record = try await bench.list.record
        await bench.store.close()
        let path = bench.folder.store
        try await later {
            #expect(await code { try await SQLitePageStore.openForTest(at: path, mode: .readOnly) } == .permission)
            let store = try await SQLitePageStore.openForReading(at: path)
            #expect(try await store.query(record.key) == record)
            #expect(try await store.window(of: record.id, 0..<3)?.parts.count == 1)
            #expect(try await store.verify().isSound)
            #expect(try await store.statistics().schema == 2)
            await store.close()
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for mode in [SQLitePageStore.Mode.readOnly, .mustExist] {
            #expect(await code { try await SQLitePageStore.openForTest(at: path, mode: mode) } == .newerSchema)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test("The error of a failed migration names the reason, and the store keeps its schema")
    func full() async throws {
        let faulty = FaultyFolder()
        let path = "\(faulty.folder.realPath)/store.sqlite"
        await (try faulty.open()).close()
        try await later {
            faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
            let error = await #expect(throws: StorageError.self) {
                try await SQLitePageStore.openForReading(at: path, options: faulty.options)
            }
            #expect(error?.code == .full)
            #expect(error?.message.contains("has an older schema, and cannot be brought up to date: ") == true)
            faulty.disarm()
        }
        await (try faulty.open()).close()
    }

    @Test("A record of a later migration does not prevent that migration")
    func forgedNote() async throws {
        let bench = try await Bench()
        try bench.execute("INSERT INTO migration VALUES (2, 'n', 'c', 0)")
        await bench.store.close()
        try await later {
            let store = try await SQLitePageStore.openForReading(at: bench.folder.store)
            #expect(try await store.verify().isSound)
            #expect(try await store.statistics().schema == 2)
            await store.close()
        }
    }

    @Test("A schema number that belongs to another known version is damage, and a repair of the header corrects it")
    func otherNumber() async throws {
        let bench = try await Bench()
        await bench.store.close()
        let path = bench.folder.store
        try await later {
            await (try await SQLitePageStore.openForReading(at: path)).close()
            try bench.execute("PRAGMA user_version = 1")
            #expect(await code { try await SQLitePageStore.openForTest(at: path, mode: .mustExist) } == .damaged)
            #expect(try SQLitePageStore.repairHeader(at: path).count == 1)
            await (try await SQLitePageStore.openForTest(at: path, mode: .mustExist)).close()
        }
    }

    @Test("The check for damage does not migrate an older store", arguments: [false, true])
    func aside(isDamaged: Bool) async throws {
        let bench = try await Bench()
        if isDamaged { try bench.execute("UPDATE store SET seal = 1") }
        await bench.store.close()
        try await later {
            let found = try await SQLitePageStore.isDamaged(at: bench.folder.store)
            #expect(found == isDamaged)
        }
        let connection = try Connection(path: bench.folder.store)
        #expect(try connection.pragma("user_version") == 1)
    }
}

extension Bench<SQLitePageStore> {
    fileprivate func execute(_ script: String) throws {
        try Connection(path: folder.store).execute(script)
    }
}
