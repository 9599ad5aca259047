import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// The rollback journal next to a store is its own, an older one, or that of another store.
@Suite("Rollback journals")
struct RollbackJournalTests {
    private let folder = Folder()

    @Test("A reader first undoes the change that a killed program has left in a rollback journal")
    func hotJournal() async throws {
        let tree = try await DamagedTree()
        let aside = Folder()
        do {
            // The copies are what a killed program leaves. With a small cache it writes a part of its change early.
            let other = try Connection(path: tree.path)
            try other.execute(
                """
                PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; BEGIN;
                UPDATE body SET payload = zeroblob(length(payload)); DELETE FROM page
                """)
            for suffix in ["", "-journal"] {
                for copy in [folder.store, aside.store] {
                    try FileManager.default.copyItem(atPath: tree.path + suffix, toPath: copy + suffix)
                }
            }
            try other.execute("ROLLBACK")
        }
        #expect(await code { try await SQLitePageStore.openForTest(at: folder.store, mode: .readOnly) } == .permission)
        // The check that precedes a set-aside also undoes the change first.
        #expect(try await !SQLitePageStore.isDamaged(at: aside.store))
        let store = try await SQLitePageStore.openForReading(at: folder.store)
        #expect(try await store.verify().isSound)
        #expect(try await store.window(of: tree.query, 0..<4_000)?.missing == [])
        await store.close()
    }

    @Test(
        "The rollback journal of another store is refused, and the store does not change",
        arguments: ["", "PRAGMA user_version = 7;", "CREATE TABLE one (x);"], [false, true])
    func foreignJournal(change: String, isCut: Bool) async throws {
        let tree = try await DamagedTree()
        await (try await SQLitePageStore.openForTest(at: folder.store)).close()
        let journal = folder.store + "-journal"
        let other = try Connection(path: tree.path)
        try other.execute(
            """
            PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; BEGIN; \(change)
            UPDATE body SET payload = zeroblob(length(payload))
            """)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: tree.path + "-journal"))
        // The journal now states a length of 0 pages, to which SQLite would truncate the store. Its first record is of
        // page one.
        if isCut {
            bytes.replaceSubrange(16..<20, with: [UInt8](repeating: 0, count: 4))
            bytes.replaceSubrange(512..<516, with: [0, 0, 0, 1] as [UInt8])
        }
        try bytes.write(to: URL(fileURLWithPath: journal))
        try other.execute("ROLLBACK")
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        for mode in [SQLitePageStore.Mode.readOnly, .mustExist] {
            let error = await #expect(throws: StorageError.self) {
                try await SQLitePageStore.openForTest(at: folder.store, mode: mode)
            }
            #expect(error?.code == .foreignLog)
            // The journal may be an older one of this store.
            #expect(error?.message.contains("-journal does not belong to this state of ") == true)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
        try FileManager.default.removeItem(atPath: journal)
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        #expect(try await store.verify().isSound)
        await store.close()
    }

    /// Returns a journal that restores a whole file (https://www.sqlite.org/fileformat2.html#the_rollback_journal).
    private func journal(restoring bytes: [UInt8]) -> Data {
        func word(_ number: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        let (size, nonce) = (DamagedTree.pageSize, 7)
        let pages = bytes.count / size
        var journal: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        for number in [pages, nonce, pages, 512, size] { journal += word(number) }
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        for page in 0..<pages {
            let content = bytes[page * size..<(page + 1) * size]
            let sum = stride(from: size - 200, to: 0, by: -200).reduce(nonce) { $0 + Int(content[page * size + $1]) }
            journal += word(page + 1)
            journal += content
            journal += word(sum)
        }
        return Data(journal)
    }

    /// The ways in which a journal next to a store with a rollback journal does not belong to it.
    enum Foreign: CaseIterable { case killed, whole, cut }

    @Test(
        "A store that another program has set to a rollback journal refuses a journal that would damage it",
        arguments: Foreign.allCases)
    func harmfulJournal(_ kind: Foreign) async throws {
        let tree = try await DamagedTree()
        try Connection(path: tree.path).execute("PRAGMA journal_mode = DELETE")
        let bytes = try tree.bytes
        let foreign: Data
        switch kind {
        case .killed:
            let other = try await DamagedTree(bytes: 19)
            let program = try Connection(path: other.path)
            try program.execute(
                """
                PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; BEGIN;
                UPDATE body SET payload = zeroblob(length(payload))
                """)
            foreign = try Data(contentsOf: URL(fileURLWithPath: other.path + "-journal"))
            try program.execute("ROLLBACK")
        case .whole:
            let other = try await DamagedTree(bytes: 19)
            try Connection(path: other.path).execute("PRAGMA journal_mode = DELETE")
            foreign = journal(restoring: try other.bytes)
        case .cut: foreign = journal(restoring: [])
        }
        let before = try tree.bytes
        try foreign.write(to: URL(fileURLWithPath: tree.path + "-journal"))
        for mode in [SQLitePageStore.Mode.readOnly, .mustExist] {
            #expect(await code { try await SQLitePageStore.openForTest(at: tree.path, mode: mode) } == .foreignLog)
        }
        #expect(try tree.bytes == before)
        #expect(try Data(contentsOf: URL(fileURLWithPath: tree.path + "-journal")) == foreign)
        try FileManager.default.removeItem(atPath: tree.path + "-journal")
        let store = try await tree.open()
        #expect(try await store.verify().isSound)
        await store.close()
        // The store's own journal is applied, although the store is sound as it is.
        try tree.write(bytes)
        try journal(restoring: bytes).write(to: URL(fileURLWithPath: tree.path + "-journal"))
        let own = try await tree.open()
        #expect(try await own.verify().isSound)
        #expect(!StoreFile.exists(tree.path + "-journal"))
        await own.close()
    }
}
