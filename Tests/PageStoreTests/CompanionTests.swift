import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// The files next to a store (`-wal`, `-shm`, `-owners`) are removed, replaced or exchanged, or the store itself is.
@Suite("The files next to a store")
struct CompanionTests {
    private let folder = Folder()

    /// Opens a store. A store opened with `createIfMissing` contains this list.
    private func open(_ key: String, at path: String? = nil, _ mode: SQLitePageStore.Mode = .createIfMissing)
        async throws
        -> SQLitePageStore
    {
        let store = try await SQLitePageStore.openForTest(at: path ?? folder.store, mode: mode)
        if mode == .createIfMissing { _ = try await store.register(QueryKey(key)) }
        return store
    }

    /// Writes until a write fails. The store does not check again a file that it saw in place within the last
    /// millisecond.
    private func codeOfWrites(_ store: SQLitePageStore) async -> StorageError.Code? {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if let code = await code({ try await store.register(QueryKey("\(UInt64.random(in: 0 ... .max))")) }) {
                return code
            }
        }
        return nil
    }

    @Test(
        "The next write notices a log or a shared memory that was removed or replaced",
        arguments: [["-wal"], ["-shm"], ["-wal", "-shm"]], [false, true])
    func companions(names: [String], replaced: Bool) async throws {
        let store = try await open("ours")
        for name in names {
            try FileManager.default.removeItem(atPath: folder.store + name)
            if replaced { folder.createFile(folder.store + name) }
        }
        #expect(await codeOfWrites(store) == .moved)
        await store.close()
    }

    @Test("A store whose log was truncated while it was open is refused until the process that has it open closes it")
    func cutLog() async throws {
        let store = try await open("ours")
        let log = try Data(contentsOf: URL(fileURLWithPath: folder.store + "-wal"))
        #expect(truncate(folder.store + "-wal", 0) == 0)
        // This check runs once, because closing its descriptor drops SQLite's locks. Another process has locks of its
        // own.
        #expect(await code { try LogOwner.check(folder.store) } == .moved)
        try log.write(to: URL(fileURLWithPath: folder.store + "-wal"))
        await store.close()
        #expect(await code { try LogOwner.check(folder.store) } == nil)
    }

    /// Copies the files of an open store. The copies are what a killed process leaves.
    private func leaveBehind(_ store: SQLitePageStore, at path: String, _ suffixes: [String] = ["", "-wal", "-owners"])
        throws
    {
        for suffix in suffixes { try FileManager.default.copyItem(atPath: store.path + suffix, toPath: path + suffix) }
    }

    @Test(
        "A store does not read the log of the store that it replaced, and reads its own log wherever both were copied to",
        arguments: [true, false])
    func foreignLog(isMerged: Bool) async throws {
        let store = try await open("ours")
        if isMerged {
            await store.close()
            let again = try await open("more")
            try leaveBehind(again, at: "\(folder.path)/left.sqlite")
            await again.close()
        } else {
            try leaveBehind(store, at: "\(folder.path)/left.sqlite")
            await store.close()
        }
        // The store reads its own log.
        let left = "\(folder.path)/left.sqlite"
        let copy = "\(folder.path)/copy.sqlite"
        for suffix in ["", "-wal", "-owners"] {
            try FileManager.default.copyItem(atPath: left + suffix, toPath: copy + suffix)
        }
        let own = try await open("", at: copy, .mustExist)
        #expect(try await own.records().map(\.key).contains(QueryKey("ours")))
        await own.close()
        // The file and its log replace those of another store that was killed. The `-owners` file of that store stays.
        let restored = "\(folder.path)/restored.sqlite"
        let killed = try await open("killed", at: restored)
        try leaveBehind(killed, at: "\(folder.path)/killed.sqlite", ["-owners"])
        await killed.close()
        for suffix in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: restored + suffix)
            try FileManager.default.copyItem(atPath: left + suffix, toPath: restored + suffix)
        }
        try? FileManager.default.removeItem(atPath: restored + "-owners")
        try FileManager.default.copyItem(atPath: "\(folder.path)/killed.sqlite-owners", toPath: restored + "-owners")
        let backup = try await open("", at: restored, .mustExist)
        #expect(try await backup.records().map(\.key).contains(QueryKey("ours")))
        await backup.close()
        // Another store takes the place of this one.
        let other = try await open("theirs", at: "\(folder.path)/other.sqlite")
        await other.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: other.path))
        #expect(rename(other.path, left) == 0)
        for mode in [SQLitePageStore.Mode.mustExist, .readOnly, .createIfMissing] {
            #expect(await code { try await SQLitePageStore.openForTest(at: left, mode: mode) } == .foreignLog)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: left)) == bytes)
        // Without the foreign log, the store opens.
        try FileManager.default.removeItem(atPath: left + "-wal")
        let theirs = try await open("", at: left, .mustExist)
        #expect(try await theirs.records().map(\.key) == [QueryKey("theirs")])
        await theirs.close()
    }

    @Test(
        "The log of another store is refused next to a sound store, although no record names its owner",
        arguments: [(200, 120), (120, 200)])
    func strayLog(own: Int, other: Int) async throws {
        let tree = try await DamagedTree(pages: own)
        let stranger = try await DamagedTree(pages: other, bytes: 19)
        let store = try await stranger.open()
        let content = PageContent(
            (0..<20).map { RawItem(payload: [UInt8](repeating: UInt8(ascii: "x"), count: 1_000), id: "new \($0)") })
        let page = PageWrite(offset: other * 20, content: content, evidence: .inferred)
        let version = ListVersion(generation: 1, revision: 0)
        let edits: [ListEdit] = [.setTotal(.exact(other * 20 + 20)), .insertPage(page)]
        let plan = CommitPlan(query: stranger.query, version: version, edits: edits)
        let outcome = try await store.commit(plan)
        guard case .committed = outcome else {
            Issue.record("\(outcome)")
            return
        }
        try FileManager.default.copyItem(atPath: stranger.path + "-wal", toPath: tree.path + "-wal")
        await store.close()
        let before = try tree.bytes
        for mode in [SQLitePageStore.Mode.readOnly, .mustExist, .createIfMissing] {
            let error = await #expect(throws: StorageError.self) {
                try await SQLitePageStore.openForTest(at: tree.path, mode: mode)
            }
            #expect(error?.code == .foreignLog)
            #expect(error?.message.contains("-wal does not belong to this state of ") == true)
        }
        #expect(try tree.bytes == before)
        try FileManager.default.removeItem(atPath: tree.path + "-wal")
        let again = try await tree.open()
        #expect(try await again.verify().isSound)
        await again.close()
    }

    @Test("A log without a record is applied to the store that it was copied with, and is recorded as its log")
    func unrecordedLog() async throws {
        await (try await open("ours")).close()
        let store = try await open("more")
        let copy = "\(folder.path)/copy.sqlite"
        try leaveBehind(store, at: copy, ["", "-wal"])
        await store.close()
        let reader = try await open("", at: copy, .readOnly)
        #expect(try await reader.records().map(\.key) == [QueryKey("ours"), QueryKey("more")])
        await reader.close()
        #expect(StoreFile.size(copy + "-owners") >= 32)
    }

    @Test(
        "A log that a killed set-aside left under two names belongs to the renamed file, or to a store not renamed yet",
        arguments: [false, true])
    func halfSetAside(isRenamed: Bool) async throws {
        let first = try await open("first")
        await first.close()
        let older = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        let store = try await open("second")
        let left = "\(folder.path)/left.sqlite"
        try leaveBehind(store, at: left)
        await store.close()
        let aside = left + ".corrupt-20260115T080000Z"
        #expect(link(left + "-wal", aside + "-wal") == 0)
        if isRenamed {
            #expect(rename(left, aside) == 0)
            // An older copy of the same store has the stamp that the log needs.
            try older.write(to: URL(fileURLWithPath: left))
            for mode in [SQLitePageStore.Mode.readOnly, .mustExist, .createIfMissing] {
                #expect(await code { try await SQLitePageStore.openForTest(at: left, mode: mode) } == .foreignLog)
            }
            try FileManager.default.removeItem(atPath: left + "-wal")
        }
        let again = try await open("", at: left, .mustExist)
        let keys = try await again.records().map(\.key)
        #expect(keys.contains(QueryKey("second")) == !isRenamed)
        #expect(keys.contains(QueryKey("first")))
        await again.close()
        #expect(StoreFile.exists(aside + "-wal") == isRenamed)
    }

    @Test("A log that two sessions of one store restarted in turn is refused by a store that replaced it")
    func logOfSeveral() async throws {
        var options = SQLitePageStore.Options()
        options.checkpointBytes = 16 * 4_096
        let one = try await SQLitePageStore.openForTest(at: folder.store, options: options)
        let other = try await SQLitePageStore.openForTest(at: folder.store, options: options)
        for number in 0..<60 {
            for store in [one, other] { _ = try await store.register(QueryKey("\(number) \(store === one)")) }
        }
        let left = "\(folder.path)/left.sqlite"
        try leaveBehind(one, at: left)
        await one.close()
        await other.close()
        let theirs = try await open("theirs", at: "\(folder.path)/other.sqlite")
        await theirs.close()
        #expect(rename(theirs.path, left) == 0)
        #expect(await code { try await SQLitePageStore.openForTest(at: left) } == .foreignLog)
    }

    @Test("Every file error in a store whose file was removed is reported as `moved`")
    func explained() async throws {
        let store = try await open("ours")
        #expect(unlink(folder.store) == 0)
        try await store.withWriter { session throws(StorageError) in
            for code in [StorageError.Code.permission, .inputOutput, .cannotCreate, .damaged] {
                #expect(session.connection.explained(StorageError(code, "")).code == .moved)
            }
            #expect(session.connection.explained(StorageError(.busy, "")).code == .busy)
        }
        #expect(!store.isInPlace)
        await store.close()
        #expect(!store.isInPlace)
    }

    @Test("The next write notices a second name of the store, and writes succeed again after its removal")
    func secondName() async throws {
        let store = try await open("ours")
        #expect(link(folder.store, "\(folder.path)/second") == 0)
        #expect(await codeOfWrites(store) == .notAStore)
        #expect(unlink("\(folder.path)/second") == 0)
        _ = try await store.register(QueryKey("more"))
        await store.close()
    }

    @Test("A VACUUM of another program that moves the table with the stamp is not reported as an overwritten file")
    func movedStamp() async throws {
        let store = try await open("ours")
        let root = SQL("SELECT rootpage FROM sqlite_schema WHERE name = 'store'")
        // The store checks the file again after a millisecond.
        func write() async throws {
            let end = ContinuousClock.now + .milliseconds(20)
            while ContinuousClock.now < end {
                _ = try await store.register(QueryKey("\(UInt64.random(in: 0 ... .max))"))
            }
        }
        try await store.withWriter { session throws(StorageError) in _ = try session.emptyLog(isUrgent: true) }
        try await write()
        do {
            let other = try Connection(path: folder.store)
            let before = try other.number(root)
            try other.execute("PRAGMA auto_vacuum = 0; VACUUM; PRAGMA wal_checkpoint(PASSIVE)")
            #expect(try other.number(root) != before)
        }
        try await write()
        #expect(try await store.verify().isSound)
        await store.close()
    }

    @Test("Setting a store aside also moves companion files that would block the next store")
    func foreignKinds() async throws {
        let store = try await open("ours")
        await store.close()
        for suffix in ["-owners", "-notices"] {
            try? FileManager.default.removeItem(atPath: folder.store + suffix)
            #expect(mkfifo(folder.store + suffix, 0o600) == 0)
        }
        _ = try SQLitePageStore.setAside(at: folder.store, now: noon)
        let next = try await open("next")
        #expect(try await next.records().count == 1)
        await next.close()
        let directory = "\(folder.path)/directory"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        #expect(await code { try SQLitePageStore.setAside(at: directory, now: noon) } == .notAStore)
        #expect(!StoreFile.exists(directory + "-owners"))
    }

    @Test(
        "A file of another user beside a store that only its owner may use is refused", arguments: ["-wal", "-owners"])
    func ofAnotherUser(suffix: String) async throws {
        guard geteuid() == 0 else { return }
        await (try open("list")).close()
        folder.createFile(folder.store + suffix)
        #expect(lchown(folder.store + suffix, 65_534, 65_534) == 0)
        #expect(await code { try await open("list", .mustExist) } == .strayFile)
    }
}
