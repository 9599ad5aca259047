import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("The file under an open store")
struct PlaceTests {
    private let folder = Folder()

    private func open(_ path: String? = nil, _ mode: SQLitePageStore.Mode = .createIfMissing) async throws
        -> SQLitePageStore
    {
        try await SQLitePageStore.openForTest(at: path ?? folder.store, mode: mode)
    }

    /// Writes until a write fails. The store does not check again a file that it saw in place within the last
    /// millisecond.
    private func codeOfWrites(_ store: SQLitePageStore) async -> StorageError.Code? {
        let end = ContinuousClock.now + .seconds(120)
        var isPinned = false
        while ContinuousClock.now < end {
            if let code = await code({ try await store.setPinned(isPinned, QueryID(rawValue: 1)) }) { return code }
            isPinned.toggle()
        }
        return nil
    }

    private func other() async throws -> String {
        let path = "\(folder.path)/other.sqlite"
        let other = try await open(path)
        _ = try await other.register(QueryKey("theirs"), at: noon)
        await other.close()
        return path
    }

    enum Accident: CaseIterable { case renamed, removed, replaced, linked }

    @Test(
        "The next write and a first read notice that an open store was renamed, removed or replaced",
        arguments: Accident.allCases)
    func moved(accident: Accident) async throws {
        let store = try await open()
        _ = try await store.register(QueryKey("ours"), at: noon)
        switch accident {
        case .renamed: #expect(rename(folder.store, folder.store + ".old") == 0)
        case .removed: #expect(unlink(folder.store) == 0)
        case .replaced: #expect(rename(try await other(), folder.store) == 0)
        // A process that opens the link uses another log for the same file.
        case .linked:
            #expect(rename(folder.store, folder.store + ".old") == 0)
            #expect(symlink(folder.store + ".old", folder.store) == 0)
        }
        #expect(!store.isInPlace)
        #expect(await codeOfWrites(store) == .moved)
        let reader = try await open("\(folder.path)/second.sqlite")
        #expect(unlink(reader.path) == 0)
        #expect(await code { try await reader.records() } == .moved)
        await store.close()
        await reader.close()
    }

    @Test("An open store is not in its place once the link to it leads to another file")
    func redirectedLink() async throws {
        let link = "\(folder.path)/link.sqlite"
        let theirs = try await other()
        _ = try await open().close()
        #expect(symlink(folder.store, link) == 0)
        let store = try await open(link)
        #expect(store.isInPlace)
        #expect(unlink(link) == 0 && symlink(theirs, link) == 0)
        #expect(!store.isInPlace)
        await store.close()
    }

    @Test("A long read of a store that is renamed meanwhile throws `moved`, and returns no rows")
    func movedDuringRead() async throws {
        let store = try await open()
        _ = try await store.register(QueryKey("ours"), at: noon)
        let (path, moved) = (folder.store, folder.store + ".old")
        let error = await code {
            try await store.read { _ throws(StorageError) in
                #expect(rename(path, moved) == 0)
                let end = ContinuousClock.now + .milliseconds(20)
                while ContinuousClock.now < end {}
            }
        }
        #expect(error == .moved)
        await store.close()
    }

    @Test(
        "The next write notices that a store was overwritten in place",
        arguments: [true, false])
    func overwritten(byStore: Bool) async throws {
        let store = try await open()
        for number in 0..<3 { _ = try await store.register(QueryKey("ours \(number)"), at: noon) }
        // The file contains the stamp that identifies the store only after the first merge of the log.
        try await store.withWriter { session throws(StorageError) in
            let isEmpty = try session.emptyLog(isUrgent: true)
            #expect(isEmpty)
        }
        try await store.setPinned(true, QueryID(rawValue: 1))
        let bytes =
            byStore
            ? try Data(contentsOf: URL(fileURLWithPath: try await other())) : Data(repeating: 0x20, count: 100_000)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.store))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: bytes)
        #expect(await codeOfWrites(store) == .damaged)
        // The handle is closed last, because closing it drops SQLite's locks.
        await store.close()
        try handle.close()
    }

    @Test("A store made in place of a removed one has none of the old content, although the old store is still open")
    func madeAnew() async throws {
        let old = try await open()
        _ = try await old.register(QueryKey("old"), at: noon)
        #expect(unlink(folder.store) == 0)
        let new = try await open()
        _ = try await new.register(QueryKey("new"), at: noon)
        #expect(await codeOfWrites(old) == .moved)
        await old.close()
        #expect(try await new.records().map(\.key) == [QueryKey("new")])
        await new.close()
        let again = try await open()
        #expect(try await again.records().map(\.key) == [QueryKey("new")])
        #expect(try await again.verify().isSound)
        await again.close()
    }

    @Test("The next write notices a truncated file")
    func truncated() async throws {
        let store = try await open()
        _ = try await store.register(QueryKey("ours"), at: noon)
        try await store.withWriter { session throws(StorageError) in _ = try session.emptyLog(isUrgent: true) }
        try await store.setPinned(true, QueryID(rawValue: 1))
        #expect(truncate(folder.store, 0) == 0)
        #expect(await codeOfWrites(store) == .damaged)
        await store.close()
    }

    @Test("The stamp is at its expected position, whatever the page size", arguments: [512, 4_096, 65_536])
    func stampPosition(pageSize: Int) async throws {
        folder.createFile(folder.store)
        try Connection(path: folder.store).execute(
            "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = \(StoreFile.applicationID)"
        )
        await (try await open()).close()
        let connection = try Connection(path: folder.store)
        var stamp = try #require(try StoreStamp(of: connection))
        try stamp.check(connection)
        let number = try #require(try StoreStamp.intact(in: connection))
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: folder.store)).range(
                of: withUnsafeBytes(of: number.bigEndian) { Data($0) }) != nil)
    }

    @Test(
        "A special file next to a store is refused without waiting for it",
        arguments: ["-wal", "-shm", "-journal", "-owners", "-notices"])
    func companions(suffix: String) async throws {
        await (try await open()).close()
        unlink(folder.store + suffix)
        #expect(mkfifo(folder.store + suffix, 0o600) == 0)
        for mode in [SQLitePageStore.Mode.createIfMissing, .mustExist, .readOnly] {
            #expect(await code { try await open(nil, mode) }?.description == "stray_file")
        }
        unlink(folder.store + suffix)
        try FileManager.default.createSymbolicLink(atPath: folder.store + suffix, withDestinationPath: "/dev/null")
        #expect(await code { try await open() }?.description == "stray_file")
    }

    @Test("A store with statistics gathered by SQLite opens")
    func analyzed() async throws {
        let bench = try await Bench<SQLitePageStore>()
        try await bench.put(0, items(0..<10))
        try Connection(path: bench.folder.store).execute("ANALYZE")
        await bench.store.close()
        let store = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await store.verify().isSound)
        #expect(try await store.records().count == 1)
        await store.close()
    }

    @Test("A store that is being opened is not set aside, and a store that is being set aside is not opened")
    func gate() async throws {
        await (try await open()).close()
        let gate = try #require(StoreGate(folder.store, makingFile: true))
        #expect(gate.lock(.shared))
        let error = StorageError(.busy, "in use")
        #expect(
            await code { try Recreation.whileAlone(with: folder.store, otherwise: error, budget: .zero) {} } == .busy)
        await (try await open()).close()
        #expect(gate.lock(.exclusive))
        var options = SQLitePageStore.Options()
        options.busyBudget = .zero
        #expect(await code { try await SQLitePageStore.openForTest(at: folder.store, options: options) } == .busy)
        #expect(gate.lock(.shared))
        await (try await open()).close()
    }

    #if os(Linux)
    @Test("Tasks that open one new store at the same time keep its locks in place")
    func locksOfTasks() async throws {
        for round in 0..<30 {
            let path = "\(folder.path)/\(round).sqlite"
            let stores = try await withThrowingTaskGroup(of: SQLitePageStore.self) { group in
                for _ in 0..<4 { group.addTask { try await SQLitePageStore.openForTest(at: path) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            // A lock of another file description conflicts with SQLite's lock if that still exists. Closing this
            // descriptor would drop SQLite's lock.
            let descriptor = Glibc.open(path, O_RDWR)
            var region = flock()
            region.l_type = Int16(F_WRLCK)
            region.l_start = 0x4000_0000
            region.l_len = 512
            let query: Int32 = 36  // F_OFD_GETLK
            #expect(fcntl(descriptor, query, &region) == 0 && region.l_type != Int16(F_UNLCK), "round \(round)")
            for store in stores { await store.close() }
            close(descriptor)
        }
    }

    enum HeaderRead: CaseIterable { case header, length, setAside, isDamaged, hasMark }

    @Test(
        "A call that reads the header of a store that this process has open keeps the store's locks in place",
        arguments: HeaderRead.allCases)
    func locksOfHeaderReads(read: HeaderRead) async throws {
        let store = try await open()
        _ = try await store.register(QueryKey("ours"), at: noon)
        let path = folder.store
        switch read {
        case .header: #expect(await code { try SQLitePageStore.repairHeader(at: path) } == .busy)
        case .length: #expect(await code { try ShortFile.correctPageCount(path) } == .busy)
        case .setAside: #expect(await code { try SQLitePageStore.setAside(at: path, now: noon) } == .busy)
        case .isDamaged: #expect(try await !SQLitePageStore.isDamaged(at: path))
        case .hasMark: #expect(SQLitePageStore.hasMark(path))
        }
        // SQLite's shared lock begins at this byte. Closing this descriptor would drop the lock.
        let descriptor = Glibc.open(path, O_RDWR)
        #expect(ByteLock(descriptor: descriptor).isHeldElsewhere(at: 0x4000_0002) == true)
        await store.close()
        close(descriptor)
    }
    #endif
}

@Suite("A failed merge")
struct FailedMergeTests {
    @Test(
        "After a failed merge a process stops merging, closing keeps the log, and the next process finds every commit"
    )
    func stops() async throws {
        var failed = 0
        for call in 1..<200 {
            let faulty = FaultyFolder()
            var options = faulty.options
            options.checkpointBytes = 20 * 4_096
            let path = "\(faulty.folder.realPath)/store.sqlite"
            let store = try await SQLitePageStore.openForTest(at: path, options: options)
            let query = try await store.register(QueryKey("list"), at: noon)
            fault_arm(faulty.control, FAULT_SYNC, call, false, 1_034, -1)
            var acknowledged: [Int] = []
            for number in 0..<20 {
                let page = PageWrite(
                    offset: number * 10, content: items(number * 10..<number * 10 + 10), evidence: .inferred)
                let plan = CommitPlan(query: query.id, version: query.version, edits: [.insertPage(page)])
                if case .committed = try? await store.commit(plan) { acknowledged.append(number) }
            }
            let hasFired = faulty.fired > 0
            let hasFailed = try await store.withWriter { session throws(StorageError) in
                if session.merger.hasFailed {
                    let isMerged = try session.merger.merge()
                    #expect(!isMerged)
                }
                return session.merger.hasFailed
            }
            await store.close()
            if hasFailed {
                failed += 1
                #expect(faulty.folder.contents.contains("store.sqlite-wal"), "call \(call)")
            }
            let next = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
            for number in acknowledged {
                #expect(try await next.page(at: number * 10, of: query.id)?.content.count == 10, "call \(call)")
            }
            await next.close()
            if !hasFired { break }
        }
        #expect(failed > 0)
    }
}
