import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// Damage that a repair, or a check, has to survive.
@Suite("Repairs of odd damage", .timeLimit(.minutes(2)))
struct RepairLimitsTests {
    @Test("A repair ends although a page record names a text as its query")
    func textAsQuery() async throws {
        let tree = try await DamagedTree(pages: 30)
        var bytes = try tree.bytes
        let leaf = (try #require(try tree.leaves(of: "page").first) - 1) * DamagedTree.pageSize
        // https://www.sqlite.org/fileformat2.html: a cell has the length of its record, the length of the record's
        // header, and the type of each column. The first column is the query.
        var type = leaf + Int(bytes[leaf + 8]) << 8 + Int(bytes[leaf + 9])
        while bytes[type] & 0x80 != 0 { type += 1 }
        type += 2
        let (one, emptyText): (UInt8, UInt8) = (9, 13)
        try #require(bytes[type] == one)
        bytes[type] = emptyText
        try tree.write(bytes)
        // The repair needs a new file.
        try tree.damage([try #require(try tree.leaves(of: "body").last)])
        let store = try await tree.open()
        let report = try await store.repair(at: noon)
        #expect(report.replacedFile != nil && report.remaining.isSound, "\(report.remaining.findings)")
    }

    @Test("A damaged page record at another position counts as damage after its page was stored again")
    func recordElsewhere() async throws {
        let bench = try await Bench()
        for start in [0, 3, 6] { try await bench.put(start, items(start..<start + 3)) }
        try Connection(path: bench.folder.store).execute("UPDATE page SET offset = 106 WHERE offset = 6")
        try await bench.put(6, items(6..<9))
        #expect(try await bench.store.window(of: bench.query, 0..<9)?.missing == [])
        #expect(try await !bench.store.damage(of: bench.query, thoroughly: true).isNone)
        #expect(try await bench.store.repair(at: noon).remaining.isSound)
        #expect(try await bench.store.damage(of: bench.query, thoroughly: true).isNone)
    }

    @Test("A read without locks ends as busy after a write by another connection, and the next read begins anew")
    func writtenWhileRead() async throws {
        let tree = try await DamagedTree(pages: 3)
        let path = tree.path
        let pool = ReaderPool(count: 1) { () throws(StorageError) in
            let state = FileState(path)
            let connection = try Connection(path: path, .immutable)
            connection.immutableState = state
            return connection
        }
        defer { pool.close() }
        func pages(_ meanwhile: () throws(StorageError) -> Void = {}) throws(StorageError) -> Int64? {
            try pool.read { connection throws(StorageError) in
                let count = try connection.number(SQL("SELECT count(*) FROM page"))
                try meanwhile()
                return count
            }
        }
        #expect(try pages() == 3)
        let error = #expect(throws: StorageError.self) {
            try pages { () throws(StorageError) in
                // The connection merges its log when it is closed.
                try Connection(path: path).execute("DELETE FROM page WHERE offset = 40")
            }
        }
        #expect(error?.code == .busy)
        #expect(try pages() == 2)
    }
}
