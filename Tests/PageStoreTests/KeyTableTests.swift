import PagedRepositoryTesting
import Testing

@testable import PageStore

@Suite("Item hashes in memory")
struct KeyTableTests {
    @Test("it says what a dictionary says, however many keys there are, and however alike they look", arguments: [
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
}
