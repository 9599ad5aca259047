import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Damaged b-trees")
struct DamagedTreeTests {
    /// Expects that every position is either served with the right item or reported as damaged.
    private func expectItemOrDamage(_ window: ListWindow, _ length: Int, _ what: Comment) {
        var served: Set<Int> = []
        for part in window.parts {
            for index in 0..<part.content.count {
                #expect(part.content.ids[index] == "i\(part.offset + index)", what)
                #expect(served.insert(part.offset + index).inserted, what)
            }
        }
        let damaged = Set(window.damaged.flatMap { Array($0) })
        #expect(served.isDisjoint(with: damaged), what)
        #expect(served.union(damaged) == Set(0..<length), what)
    }

    @Test(
        "A damaged leaf of any table hides only its own rows, verify reports it, and a repair keeps the readable rows",
        arguments: [
            "body", "page", "identity", "ledger", "access", "tally", "counter", "query", "ledger_due",
            "sqlite_autoindex_query_1",
        ])
    func oneLeaf(of table: String) async throws {
        let tree = try await DamagedTree()
        let leaves = try tree.leaves(of: table)
        // The loop damages the first leaf, one in the middle, and the last.
        for leaf in Set([0, leaves.count / 2, leaves.count - 1]).map({ leaves[$0] }) {
            let intact = try tree.bytes
            try tree.damage([leaf])
            let store = try await tree.open()
            let what: Comment = "\(table), leaf \(leaf)"
            var before = ListWindow?.none
            if table != "query" {
                before = try await store.window(of: tree.query, 0..<4_000)
                expectItemOrDamage(try #require(before), 4_000, what)
                let lost = before!.damaged.reduce(0) { $0 + $1.count }
                #expect(leaves.count > 1 ? lost < 2_000 : lost <= 4_000, what)
                #expect((lost > 0) == ["body", "page"].contains(table), what)
                #expect(try await store.outline(of: tree.query)?.damaged.isEmpty == (table != "page"), what)
            }
            #expect(try await !store.isReadable(), what)
            #expect(try await !store.verify().isSound, what)
            let repair = try await store.repair(at: noon)
            #expect(repair.remaining.isSound, "\(what): \(repair.remaining.findings)")
            let replaced = try #require(repair.replacedFile, what)
            #expect(Array(try Data(contentsOf: URL(fileURLWithPath: replaced))).count >= intact.count, what)
            for file in [tree.path, replaced] {
                #expect(
                    try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600, what)
            }
            #expect(!tree.folder.contents.contains { $0.contains(".repair-") }, what)

            let mended = try await tree.open()
            #expect(try await mended.verify().isSound, what)
            let list = try #require(try await mended.outline(of: tree.query), what)
            #expect(list.record.key == QueryKey("list"), what)
            #expect(list.damaged.isEmpty, what)
            let after = try #require(try await mended.window(of: tree.query, 0..<4_000), what)
            if let before { #expect(after.parts.map(\.range) == before.parts.map(\.range), what) }
            #expect(after.damaged.isEmpty, what)
            if ["body", "page"].contains(table) {
                #expect(repair.pagesDropped == (4_000 - after.parts.reduce(0) { $0 + $1.content.count }) / 20, what)
                #expect(
                    try await mended.due(before: noon, limit: 99).map(\.entry.offset) == list.gaps.map(\.lowerBound),
                    what)
            } else {
                #expect(after.missing.isEmpty, what)
            }
            await mended.close()
            try FileManager.default.removeItem(atPath: replaced)
            try tree.write(intact)
        }
    }

    @Test("Rows between several damaged leaves are served", arguments: ["page", "body"])
    func severalLeaves(of table: String) async throws {
        let tree = try await DamagedTree(pages: 400)
        let leaves = try tree.leaves(of: table)
        try #require(leaves.count >= 7)
        let chosen = [1, 3, leaves.count - 1]
        try tree.damage(chosen.map { leaves[$0] })
        let store = try await tree.open()
        let window = try #require(try await store.window(of: tree.query, 0..<8_000))
        expectItemOrDamage(window, 8_000, "\(table)")
        #expect(window.damaged.reduce(0) { $0 + $1.count } < 8_000 * 4 / leaves.count)
        // A window of a part reports the same damage as a window of the whole list.
        for start in stride(from: 0, to: 8_000, by: 500) {
            let part = try #require(try await store.window(of: tree.query, start..<start + 500))
            let expected = window.damaged.map { $0.clamped(to: start..<start + 500) }.filter { !$0.isEmpty }
            #expect(Set(part.damaged.flatMap { Array($0) }) == Set(expected.flatMap { Array($0) }))
        }
        await store.close()
    }

    @Test(
        "Pages whose bodies are on a damaged leaf can be stored again elsewhere, and the damage stays until a repair"
    )
    func storesAround() async throws {
        let tree = try await DamagedTree()
        let leaves = try tree.leaves(of: "body")
        // The last leaf is damaged, too, because SQLite appends new bodies there.
        for leaf in [leaves[leaves.count / 2], leaves[leaves.count - 1]] {
            let intact = try tree.bytes
            try tree.damage([leaf])
            let store = try await tree.open()
            let damage = try await store.damage(of: tree.query, thoroughly: false)
            #expect(!damage.pages.isEmpty)
            #expect(!damage.isStructural)
            let version = ListVersion(generation: 1, revision: 0)
            let markedStale = try await store.commit(
                CommitPlan(query: tree.query, version: version, edits: damage.pages.map { .markStale($0) }))
            guard case .committed(let now) = markedStale else {
                Issue.record("the pages were not marked as stale: \(markedStale)")
                return
            }
            for page in damage.pages {
                let content = PageContent(
                    page.map { RawItem(payload: Array("{\"id\":\"i\($0)\"}".utf8), id: "i\($0)") })
                let outcome = try await store.commit(
                    CommitPlan(
                        query: tree.query, version: now,
                        edits: [.insertPage(PageWrite(offset: page.lowerBound, content: content, evidence: .inferred))])
                )
                #expect(outcome == .committed(now))
            }
            let window = try #require(try await store.window(of: tree.query, 0..<4_000))
            expectItemOrDamage(window, 4_000, "leaf \(leaf)")
            #expect(window.damaged.isEmpty)
            #expect(try await store.damage(of: tree.query, thoroughly: true) == StorageDamage(isStructural: true))
            await store.close()
            try tree.write(intact)
        }
    }

    @Test(
        "A cell pointer that repeats its neighbour hides one page and serves none twice, and a repair removes the damage"
    )
    func repeatedCells() async throws {
        let tree = try await DamagedTree(pages: 40)
        let intact = try tree.bytes
        for leaf in try tree.leaves(of: "page") {
            for cell in 1..<(try tree.cells(of: leaf)) {
                try tree.repeatCell(cell, of: leaf)
                let store = try await tree.open()
                let what: Comment = "leaf \(leaf), cell \(cell)"
                let window = try #require(try await store.window(of: tree.query, 0..<800))
                expectItemOrDamage(window, 800, what)
                #expect(window.damaged.reduce(0) { $0 + $1.count } == 20, what)
                let list = try #require(try await store.outline(of: tree.query))
                #expect(list.damaged == window.damaged, what)
                #expect(list.pages.map(\.offset) == Set(list.pages.map(\.offset)).sorted(), what)
                #expect(try await !store.verify().isSound, what)
                if cell.isMultiple(of: 5) {
                    let repair = try await store.repair(at: noon)
                    #expect(repair.remaining.isSound, "\(what): \(repair.remaining.findings)")
                    #expect(repair.pagesDropped == 1, what)
                    let mended = try await tree.open()
                    #expect(try await mended.window(of: tree.query, 0..<800)?.missing == window.damaged, what)
                    await mended.close()
                    try FileManager.default.removeItem(atPath: try #require(repair.replacedFile))
                } else {
                    await store.close()
                }
                try tree.write(intact)
            }
        }
    }

    @Test("A repair that needs a new file fails with busy while another store has the file open, and changes nothing")
    func busy() async throws {
        let tree = try await DamagedTree(pages: 60)
        let leaves = try tree.leaves(of: "page")
        try tree.damage([leaves[1]])
        var options = SQLitePageStore.Options()
        options.busyBudget = .milliseconds(50)
        let other = try await tree.open()
        let store = try await SQLitePageStore.openForTest(at: tree.path, mode: .mustExist, options: options)
        let before = try tree.bytes
        do throws(StorageError) {
            _ = try await store.repair(at: noon)
            Issue.record("the repair succeeded while another store was open")
        } catch {
            #expect(error.code == .busy, "\(error)")
        }
        #expect(try tree.bytes == before)
        #expect(!tree.folder.contents.contains { $0.contains(".repair-") || $0.contains(".corrupt-") })
        expectItemOrDamage(try #require(try await other.window(of: tree.query, 0..<1_200)), 1_200, "the other store")
        await other.close()
    }

    @Test("A repair uses the next free name when the name for the damaged file is taken")
    func nameTaken() async throws {
        let tree = try await DamagedTree(pages: 60)
        try tree.damage([try tree.leaves(of: "page")[1]])
        let taken = tree.path + ".corrupt-20270115T080000Z"
        for name in [taken, taken + "-2"] { try Data().write(to: URL(fileURLWithPath: name)) }
        let store = try await tree.open()
        #expect(try await store.repair(at: noon).replacedFile?.hasSuffix(".corrupt-20270115T080000Z-3") == true)
        for name in [taken, taken + "-2"] { #expect(try Data(contentsOf: URL(fileURLWithPath: name)).isEmpty) }
    }

    @Test("A repair of a truncated file saves the rows that are left", arguments: [2, 3])
    func cutOff(share: Int) async throws {
        let tree = try await DamagedTree()
        let bytes = try tree.bytes
        try tree.write(Array(bytes[..<(bytes.count / share)]))
        await #expect(throws: StorageError.self) { try await tree.open() }
        #expect(try SQLitePageStore.repairHeader(at: tree.path).map(\.kind) == [.file])
        #expect(try SQLitePageStore.repairHeader(at: tree.path) == [])
        let store = try await tree.open()
        let repair = try await store.repair(at: noon)
        #expect(repair.remaining.isSound, "\(repair.remaining.findings)")
        let mended = try await tree.open()
        let window = try #require(try await mended.window(of: tree.query, 0..<4_000))
        for part in window.parts { #expect(part.content.ids.first == "i\(part.offset)") }
        // The first third of the file contains no page records.
        if share == 2 { #expect(window.parts.reduce(0) { $0 + $1.content.count } > 500) }
        await mended.close()
    }

    @Test("A repair replaces a stamp that cannot be read, and loses no list")
    func stamp() async throws {
        let tree = try await DamagedTree(pages: 20)
        try tree.damage(try tree.leaves(of: "store"))
        let store = try await tree.open()
        #expect(try await store.repair(at: noon).remaining.isSound)
        let mended = try await tree.open()
        #expect(try await mended.window(of: tree.query, 0..<400)?.missing.isEmpty == true)
        await mended.close()
    }

    @Test("One repair leaves no finding after two leaves of the body table were exchanged")
    func exchangedChildren() async throws {
        let tree = try await DamagedTree()
        var bytes = try tree.bytes
        let leaves = try tree.leaves(of: "body")
        let (first, second) = (leaves[1], leaves[2])
        for offset in 0..<DamagedTree.pageSize {
            bytes.swapAt((first - 1) * DamagedTree.pageSize + offset, (second - 1) * DamagedTree.pageSize + offset)
        }
        try tree.write(bytes)
        let store = try await tree.open()
        #expect(try await !store.verify().isSound)
        let repair = try await store.repair(at: noon)
        #expect(repair.remaining.isSound, "\(repair.remaining.findings)")
        await store.close()
    }

    @Test("A repair does not reuse the number of a purged query")
    func sequence() async throws {
        let tree = try await DamagedTree(pages: 60)
        var store = try await tree.open()
        let purged = try await store.register(QueryKey("second"), at: noon).id
        _ = try await store.purge([purged])
        await store.close()
        try tree.damage([try tree.leaves(of: "page")[1]])
        store = try await tree.open()
        #expect(try await store.repair(at: noon).replacedFile != nil)
        store = try await tree.open()
        #expect(try await store.register(QueryKey("third"), at: noon).id.rawValue > purged.rawValue)
        await store.close()
    }

    @Test(
        "A repair issues no lease token twice, whether the token counter is readable or not (R30)",
        arguments: ["page", "counter"])
    func tokens(of table: String) async throws {
        let tree = try await DamagedTree(pages: 60)
        let request = { (offset: Int) in LeaseRequest([offset], for: .seconds(60)) }
        var store = try await tree.open()
        let before = try #require(try await store.claim(request(0), of: tree.query).leases.first).token
        await store.close()
        try tree.damage([try tree.leaves(of: table)[0]])
        store = try await tree.open()
        #expect(try await store.repair(at: noon).replacedFile != nil)
        store = try await tree.open()
        #expect(try #require(try await store.claim(request(20), of: tree.query).leases.first).token > before)
        await store.close()
    }

    @Test("A repair copies every table of the schema to the new file")
    func everyTable() async throws {
        let tree = try await DamagedTree(pages: 60)
        let counts = try contents(of: tree.path) { connection throws(StorageError) in
            try connection.execute(
                "INSERT INTO tally VALUES (1, 0, 1, 2, 3, 4, 5, 6, 7, 8); INSERT INTO access VALUES (3, 77)")
        }
        try tree.damage([try tree.leaves(of: "ledger_due")[0]])
        let store = try await tree.open()
        #expect(try await store.repair(at: noon).remaining.isSound)
        var left = try contents(of: tree.path)
        // The journal of each list restarts with one row.
        #expect(left.removeValue(forKey: "journal") == left["query"])
        #expect(left == counts.filter { $0.key != "journal" })
        #expect(counts.count > 8)
        #expect(try Connection(path: tree.path).number(SQL("SELECT used_at FROM access")) == 77)
    }

    /// Returns the number of rows in each table. Closes its connection on return, because a repair needs exclusive
    /// access to the file.
    private func contents(
        of path: String, after change: (Connection) throws(StorageError) -> Void = { _ throws(StorageError) in }
    ) throws -> [String: Int64] {
        let connection = try Connection(path: path)
        try change(connection)
        var counts: [String: Int64] = [:]
        var tables: [String] = []
        try connection.each(SQL("SELECT name FROM sqlite_schema WHERE type = 'table'")) { row throws(StorageError) in
            tables.append(row.text(0))
        }
        for table in tables { counts[table] = try connection.number(SQL("SELECT count(*) FROM \(table)")) }
        return counts
    }
}
