import PageModel
import PagedRepositoryTesting
import Testing

@testable import PageStore

@Suite("Item hashes in memory")
struct KeyTableTests {
    @Test(
        "A key table agrees with a dictionary, however many keys it holds and however similar they are",
        arguments: [
            UInt64.max, 0x1F, 0xFFFF, 0xFFFF_0000_0000, 0xFFFF_0000_0000_0000,
        ], 1..<4 as Range<UInt64>)
    func model(mask: UInt64, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (table, model) = (KeyTable(), [UInt64: Int64]())
        for step in 0..<20_000 {
            let key = random.next() & mask
            if step % 3 == 0 {
                #expect(table[key] == model[key])
            } else {
                table.set(key, Int64(step))
                model[key] = Int64(step)
            }
        }
        #expect(model.allSatisfy { table[$0.key] == $0.value })
        #expect(table.count == model.keys.count { $0 != 0 })
    }

    @Test(
        "A key table agrees with a set about whether two items of a page have the same key",
        arguments: [0, 1, 2, 7, 50, 1_000],
        1..<6 as Range<UInt64>)
    func repeats(count: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for mask in [UInt64.max, 0x1FFF, UInt64(count), 0xFFFF_0000_0000_0000] {
            let keys = (0..<count).map { _ in random.next() & mask }
            let items = keys.map { ItemIdentity(key: $0, content: 1) }
            #expect(KeyTable.repeatsKey(items) == (Set(keys).count < count))
        }
    }

    @Test("A key of 0 is an ordinary key")
    func zero() {
        func repeats(_ keys: [UInt64]) -> Bool { KeyTable.repeatsKey(keys.map { ItemIdentity(key: $0, content: 1) }) }
        #expect(!repeats([0, 1, 2]))
        #expect(repeats([0, 1, 0]))
    }
}
