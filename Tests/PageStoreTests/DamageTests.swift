import Foundation
import PageModel
import PagedRepositoryTesting
import Testing

@testable import PageStore

@Suite("Damaged stores")
struct DamageTests {
    @Test("a flipped bit anywhere in the file: the right bytes, a miss, or an error – never other bytes")
    func flips() async throws {
        let original = Folder()
        let pages = 12
        do {
            let store = try await PageStore.open(at: original.store, mode: .createIfMissing, now: noon)
            let query = try await store.register(QueryKey("k"), at: noon)
            for page in 0..<pages {
                _ = try await store.commit(
                    CommitPlan(
                        query: query.id, version: query.version, at: noon,
                        edits: [.put(PageWrite(offset: page * 20, content: items(page * 20..<page * 20 + 20), evidence: .inferred))]))
            }
            await store.close()
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: original.store))
        let expected = items(0..<pages * 20).items
        var random = SeededGenerator(seed: 11)
        var served = 0
        var missed = 0
        for _ in 0..<400 {
            var flipped = bytes
            let position = Int.random(in: 0..<bytes.count, using: &random)
            flipped[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let folder = Folder()
            try flipped.write(to: URL(fileURLWithPath: folder.store))
            do throws(StorageError) {
                let store = try await PageStore.open(at: folder.store, mode: .mustExist, now: noon)
                guard let query = try await store.query(QueryKey("k")),
                    let window = try await store.window(of: query.id, 0..<pages * 20)
                else {
                    missed += 1
                    continue
                }
                for part in window.parts {
                    for index in 0..<part.content.count {
                        let position = part.offset + index
                        // A page row whose offset was flipped is the one thing the body's checksum cannot see; its
                        // bytes are still an item's own. (Positions get a checksum with the rest of the row.)
                        let item = part.content.items[index]
                        #expect(expected.contains(item), "bytes that were never stored, at \(position)")
                        served += 1
                    }
                }
                missed += window.damaged.count
                await store.close()
            } catch {
                // The error is a `StorageError` by its type: an answer, too.
                missed += 1
            }
        }
        #expect(served > 10_000)
        #expect(missed > 10)
    }

    @Test("a page whose bytes are damaged is a miss, and the pages around it are served")
    func oneBody() async throws {
        let bench = try await Bench()
        for start in [0, 3, 6] { try await bench.put(start, items(start..<start + 3)) }
        try Connection(path: bench.folder.store).execute(
            "UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 3)")
        let window = try #require(try await bench.store.window(of: bench.query, 0..<9))
        #expect(window.parts.map(\.range) == [0..<3, 6..<9])
        #expect(window.damaged == [3..<6])
        #expect(window.missing == [3..<6])
    }

    @Test("a body that lands in another list is not believed")
    func swapped() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        let other = try await bench.store.register(QueryKey("other"), at: noon)
        _ = try await bench.store.commit(
            CommitPlan(
                query: other.id, version: other.version, at: noon,
                edits: [.put(PageWrite(offset: 0, content: items(10..<13), evidence: .inferred))]))
        try Connection(path: bench.folder.store).execute(
            "UPDATE page SET body = (SELECT body FROM page WHERE query = \(other.id.rawValue)) WHERE query = \(bench.query.rawValue)")
        #expect(try await bench.store.window(of: bench.query, 0..<3)?.damaged == [0..<3])
    }
}

@Suite("Purging")
struct PurgeTests {
    @Test("a purged query is gone with its pages, its ledger and its bytes in the file; the others stay")
    func purge() async throws {
        let bench = try await Bench()
        let secret = "purge-me-\(UUID().uuidString)"
        let other = try await bench.store.register(QueryKey("other"), at: noon)
        _ = try await bench.store.commit(
            CommitPlan(
                query: other.id, version: other.version, at: noon,
                edits: [.put(PageWrite(offset: 0, content: items(0..<5), evidence: .inferred))]))
        try await bench.put(0, items((0..<200).map { "\(secret)-\($0)" }))
        try await bench.commit([], ledger: [.succeeded(offset: 0)])
        let report = try await bench.store.purge([bench.query, QueryID(rawValue: 999)])
        #expect(report.queries == 1)
        #expect(report.pages == 1)
        #expect(report.bytes > 200 * secret.utf8.count)
        #expect(try await bench.store.outline(of: bench.query) == nil)
        #expect(try await bench.store.outline(of: other.id)?.coverage.count == 5)
        for file in ["", "-wal"] {
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: bench.folder.store + file))) ?? Data()
            #expect(bytes.range(of: Data(secret.utf8)) == nil, "still in the file\(file)")
        }
    }
}
