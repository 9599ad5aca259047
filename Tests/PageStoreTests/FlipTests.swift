import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

/// Flips single bits anywhere in the file: 400 flips in the short form, 3,000 with PAGECACHE_SOAK=1.
@Suite("Flipped bits")
struct FlipTests {
    private static let pages = 24
    private static let flips = Soak.isOn ? 3_000 : 400

    /// Returns a page whose size grows with its number, from a few hundred bytes to more than a database page. Content
    /// therefore fills most of the file, as in a store of any length.
    private func content(ofPage page: Int) -> PageContent {
        PageContent(
            (page * 20..<page * 20 + 20).map { number in
                RawItem(
                    payload: Array(#"{"id":"i\#(number)","text":"\#(String(repeating: "x", count: page * 25))"}"#.utf8),
                    id: "i\(number)")
            })
    }

    /// Creates a list with a history: loaded pages, a shift, joined pages, an exact total, and a failure in the ledger.
    private func makeStore() async throws -> (bytes: Data, items: [Int: RawItem]) {
        let bench = try await Bench()
        for page in 0..<FlipTests.pages { try await bench.put(page * 20, content(ofPage: page)) }
        try await bench.commit([
            .splice(0..<5, PageWrite(offset: 0, content: items(["new0", "new1"]), evidence: .inferred)),
            .setTotal(.exact(477)),
        ])
        try await bench.commit([], ledger: [.failed(offset: 300, failure: .status(503), nextAttemptIn: .zero)])
        var truth: [Int: RawItem] = [:]
        for part in try #require(try await bench.store.window(of: bench.query, 0..<1_000)).parts {
            for (index, item) in part.content.items.enumerated() { truth[part.offset + index] = item }
        }
        #expect(truth.count == 477)
        await bench.store.close()
        return (try Data(contentsOf: URL(fileURLWithPath: bench.folder.store)), truth)
    }

    @Test("A flipped bit yields the right items, a miss or an error, and verify finds every flip that hides a page")
    func flips() async throws {
        let (bytes, truth) = try await makeStore()
        let seed = Soak.seed
        var random = SeededGenerator(seed: seed)
        var (served, pagesLost, refused, found) = (0, 0, 0, 0)
        for round in 0..<FlipTests.flips {
            var flipped = bytes
            let position = Int.random(in: 0..<bytes.count, using: &random)
            flipped[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let folder = Folder()
            try flipped.write(to: URL(fileURLWithPath: folder.store))
            do throws(StorageError) {
                let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
                let read = try await read(store)
                let wrong = read.filter { truth[$0.key] != $0.value }
                #expect(
                    wrong.isEmpty,
                    "byte \(position): other items at \(wrong.keys.sorted()); seed \(seed), round \(round)")
                served += read.count
                let report = try await store.verify()
                if !report.isSound { found += 1 }
                if read.count < truth.count {
                    pagesLost += 1
                    #expect(
                        !report.isSound,
                        "byte \(position): items are missing and verify finds nothing; seed \(seed), round \(round)")
                    if round % 4 == 0 { try await mend(store, truth, position) }
                }
                await store.close()
            } catch {
                // The typed error is a valid outcome.
                refused += 1
            }
        }
        #expect(served > FlipTests.flips * 300)
        #expect(pagesLost > FlipTests.flips / 10)
        print(
            "flips: \(FlipTests.flips), stores refused \(refused), lists with a miss \(pagesLost), found by verify \(found), wrong bytes 0"
        )
    }

    private func read(_ store: SQLitePageStore) async throws(StorageError) -> [Int: RawItem] {
        var read: [Int: RawItem] = [:]
        guard let query = try await store.query(QueryKey("https://example.com/list")),
            let window = try await store.window(of: query.id, 0..<1_000)
        else { return read }
        for part in window.parts {
            for (index, item) in part.content.items.enumerated() { read[part.offset + index] = item }
        }
        return read
    }

    /// Repairs the store. If no finding is left, the remaining items must be right.
    private func mend(_ store: SQLitePageStore, _ truth: [Int: RawItem], _ position: Int) async throws(StorageError) {
        do throws(StorageError) {
            let report = try await store.repair(at: noon)
            guard report.remaining.isSound else { return }
            let read = try await read(store)
            #expect(read.allSatisfy { truth[$0.key] == $0.value }, "byte \(position), after a repair")
        } catch {
            #expect([.damaged, .inputOutput, .internal, .tooLarge].contains(error.code), "byte \(position): \(error)")
        }
    }
}
