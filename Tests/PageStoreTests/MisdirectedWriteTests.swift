import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

/// A disk has written a page of the file to the place of another page. Two b-trees then share a page, or rows are out
/// of order.
@Suite("Misdirected writes")
struct MisdirectedWriteTests {
    @Test(
        "A repair keeps every item that was readable before it, and the kept old file has them, too",
        arguments: 0..<6 as Range<UInt64>)
    func keepsReadableItems(seed: UInt64) async throws {
        let tree = try await DamagedTree(pages: 30)
        let sound = try tree.bytes
        let pages = 2...sound.count / DamagedTree.pageSize
        var random = SeededGenerator(seed: seed)
        var repairs = 0
        for _ in 0..<20 {
            let (from, to) = (Int.random(in: pages, using: &random), Int.random(in: pages, using: &random))
            var bytes = sound
            let copy = (from - 1) * DamagedTree.pageSize..<from * DamagedTree.pageSize
            bytes.replaceSubrange((to - 1) * DamagedTree.pageSize..<to * DamagedTree.pageSize, with: sound[copy])
            try tree.write(bytes)
            // A damaged schema or stamp prevents the opening.
            guard let before = try? await readable(tree), let store = try? await tree.open() else { continue }
            let report = try? await store.repair(at: noon)
            await store.close()
            guard let report else { continue }
            repairs += 1
            let lost = before.subtracting(try await readable(tree))
            #expect(lost.isEmpty, "page \(from) at \(to): \(lost.count) of \(before.count) items are lost")
            guard let replaced = report.replacedFile else { continue }
            try tree.write(Array(Data(contentsOf: URL(fileURLWithPath: replaced))))
            #expect(before.subtracting(try await readable(tree)).isEmpty, "page \(from) at \(to)")
            try FileManager.default.removeItem(atPath: replaced)
        }
        #expect(repairs >= 10)
    }

    private func readable(_ tree: DamagedTree) async throws -> Set<String> {
        let store = try await SQLitePageStore.openForTest(at: tree.path, mode: .readOnly)
        let window = try await store.window(of: tree.query, 0..<600)
        await store.close()
        return Set(window?.parts.filter(\.isHeld).flatMap { $0.content.ids.compactMap(\.self) } ?? [])
    }
}
