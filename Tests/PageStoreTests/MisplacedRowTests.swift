import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Rows in the wrong part of a tree")
struct MisplacedRowTests {
    @Test(
        "Commits beside rows in the wrong part of a tree end, and throw no error but `damaged`",
        .timeLimit(.minutes(20)))
    func misplaced() async throws {
        let tree = try await DamagedTree()
        var bytes = try tree.bytes
        let leaves = try tree.leaves(of: "page")
        // The parent's pointer to the last leaf now names the second leaf.
        let (second, last) = (leaves[1], leaves[leaves.count - 1])
        let number = withUnsafeBytes(of: UInt32(last).bigEndian, Array.init)
        var changed = 0
        for page in 0..<bytes.count / DamagedTree.pageSize where [2, 5].contains(bytes[page * DamagedTree.pageSize]) {
            let pointer = page * DamagedTree.pageSize + 8
            guard Array(bytes[pointer..<pointer + 4]) == number else { continue }
            bytes.replaceSubrange(
                pointer..<pointer + 4, with: withUnsafeBytes(of: UInt32(second).bigEndian, Array.init))
            changed += 1
        }
        #expect(changed == 1)
        try tree.write(bytes)
        let store = try await tree.open()
        let record = try #require(try await store.query(QueryKey("list")))
        var codes: Set<String> = []
        for offset in stride(from: 0, to: 4_000, by: 20) {
            do {
                _ = try await store.commit(
                    CommitPlan(
                        query: tree.query, version: record.version,
                        edits: [
                            .insertPage(
                                PageWrite(offset: offset, content: items(["new \(offset)"]), evidence: .verified))
                        ]
                    ))
            } catch {
                codes.insert(error.code.description)
            }
        }
        #expect(codes.isSubset(of: ["damaged"]))
        await store.close()
    }

    @Test("A commit that cannot delete a damaged row, because no search finds its key, throws `damaged`")
    func unfindable() async throws {
        let tree = try await DamagedTree()
        // The seals of all page rows become invalid. Then two leaves with other keys than their parent says follow.
        do {
            let connection = try Connection(path: tree.path)
            try connection.execute("UPDATE page SET seal = seal + 1")
        }
        let leaves = try tree.leaves(of: "page")
        var bytes = try tree.bytes
        for offset in 0..<DamagedTree.pageSize {
            bytes.swapAt(
                (leaves[1] - 1) * DamagedTree.pageSize + offset, (leaves[2] - 1) * DamagedTree.pageSize + offset)
        }
        try tree.write(bytes)
        let store = try await tree.open()
        let record = try #require(try await store.query(QueryKey("list")))
        let page = PageWrite(offset: 0, content: items((0..<4_000).map { "new \($0)" }), evidence: .verified)
        let error = await #expect(throws: StorageError.self) {
            try await store.commit(
                CommitPlan(query: tree.query, version: record.version, edits: [.insertPage(page)]))
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("does not match its position in the b-tree") == true, "\(error as Any)")
        await store.close()
    }
}
