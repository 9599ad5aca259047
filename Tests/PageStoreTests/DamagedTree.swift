import Foundation
import PageModel
import StorageSupport

@testable import PageStore

/// A closed store of 200 pages with 20 items each. Tests damage its b-trees.
struct DamagedTree {
    static let pageSize = 4_096
    let folder: Folder
    let query: QueryID
    var path: String { folder.store }

    /// Wraps an existing, closed store.
    init(at folder: Folder) {
        self.folder = folder
        query = QueryID(rawValue: 1)
    }

    /// - Parameters:
    ///   - pages: The number of pages, each of 20 items.
    ///   - bytes: The length of the padding in each item, in bytes.
    init(pages: Int = 200, bytes: Int = 20) async throws {
        folder = Folder()
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        query = try await store.register(QueryKey("list"), at: noon).id
        for page in 0..<pages {
            let padding = String(repeating: "x", count: bytes)
            let content = PageContent(
                (page * 20..<page * 20 + 20).map {
                    RawItem(payload: Array("{\"id\":\"i\($0)\",\"x\":\"\(padding)\"}".utf8), id: "i\($0)")
                })
            let outcome = try await store.commit(
                CommitPlan(
                    query: query, version: ListVersion(generation: 1, revision: 0),
                    edits: [
                        .insertPage(PageWrite(offset: page * 20, content: content, evidence: .inferred)), .validated,
                    ],
                    ledger: [.succeeded(offset: page * 20)]))
            precondition(outcome == .committed(ListVersion(generation: 1, revision: 0)))
        }
        _ = try await store.commit(
            CommitPlan(
                query: query, version: ListVersion(generation: 1, revision: 0), edits: [.setTotal(.exact(pages * 20))]))
        await store.close()
    }

    func open() async throws -> SQLitePageStore { try await SQLitePageStore.openForTest(at: path, mode: .mustExist) }

    var bytes: [UInt8] {
        get throws { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    func write(_ bytes: [UInt8]) throws {
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    /// Returns the leaves of a table or index, in the order of their keys.
    func leaves(of name: String) throws -> [Int] {
        let bytes = try bytes
        let connection = try Connection(path: path)
        let root = try connection.number(SQL("SELECT rootpage FROM sqlite_schema WHERE name = ?"), .text(name))!
        var leaves: [Int] = []
        func visit(_ page: Int) {
            let start = (page - 1) * Self.pageSize
            guard bytes[start] == 2 || bytes[start] == 5 else { return leaves.append(page) }
            let count = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
            for cell in 0..<count {
                let place = start + (Int(bytes[start + 12 + 2 * cell]) << 8 | Int(bytes[start + 13 + 2 * cell]))
                visit(bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) })
            }
            visit(bytes[start + 8..<start + 12].reduce(0) { $0 << 8 | Int($1) })
        }
        visit(Int(root))
        return leaves
    }

    /// Flips a bit of the cell count in the header of these pages, so that the count no longer fits.
    func damage(_ pages: [Int]) throws {
        var bytes = try bytes
        for page in pages { bytes[(page - 1) * Self.pageSize + 3] ^= 0x10 }
        try write(bytes)
    }

    /// Overwrites a two-byte cell pointer of a leaf with the pointer before it.
    func repeatCell(_ cell: Int, of page: Int) throws {
        var bytes = try bytes
        let pointer = (page - 1) * Self.pageSize + 8 + 2 * cell
        bytes[pointer] = bytes[pointer - 2]
        bytes[pointer + 1] = bytes[pointer - 1]
        try write(bytes)
    }

    func cells(of page: Int) throws -> Int {
        let start = (page - 1) * Self.pageSize
        return Int(try bytes[start + 3]) << 8 | Int(try bytes[start + 4])
    }
}
