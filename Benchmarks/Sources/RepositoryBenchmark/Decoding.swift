import Foundation
import Measuring
import PageModel
import PagedRepository
import PageStore

/// Pages that are not in memory, against the decoder alone.
enum Decoding {
    private static let hot = 50

    static func run(rounds: Int) async throws {
        try await Shelf<Product>.with(lists: 1_000) { shelf in try await run(shelf, rounds) }
    }

    private static func run(_ shelf: Shelf<Product>, _ rounds: Int) async throws {
        let content = try Product.page()
        let (codec, decoder) = (JSONItemCodec<Product>(), JSONDecoder())
        // What the decoder gets lies ready: nothing but decoding is in its time.
        let payloads = (0..<content.count).map { Data(content.payload(at: $0)) }
        var joined = Data("[".utf8)
        for (index, payload) in payloads.enumerated() {
            if index > 0 { joined.append(UInt8(ascii: ",")) }
            joined.append(payload)
        }
        joined.append(UInt8(ascii: "]"))
        // Nothing fits into this one's memory.
        let forgetful = shelf.repository(memoryBudget: 0)

        var (alone, atOnce, slices) = (Samples(), Samples(), Samples())
        var (byHand, load, window, first) = (Samples(), Samples(), Samples(), Samples())
        var seen = 0
        for _ in 0..<rounds {
            try alone.timeAtOnce { seen += try payloads.map { try decoder.decode(Product.self, from: $0) }.count }
            try atOnce.timeAtOnce { seen += try decoder.decode([Product].self, from: joined).count }
            try slices.timeAtOnce { seen += try (0..<content.count).map { try codec.decode(content.payload(at: $0)) }.count }
            let wanted = Int.random(in: 0..<hot)
            try await byHand.time {
                let key = Shelf<Product>.key(wanted)
                guard let query = try await shelf.store.query(key)?.id,
                    let reading = try await shelf.store.list(of: query, reading: { [0..<$0.length] }),
                    let part = reading.windows.first?.parts.first, let values = codec.values(of: part.content)
                else { throw Unexpected("a page") }
                seen += values.count
            }
            // Of a list that somebody holds the snapshot is in memory: of this one nothing is.
            let opened = Int.random(in: 0..<hot)
            try await load.time {
                let list = shelf.list(opened, of: forgetful)
                try await list.load(.cacheOnly)
                seen += list.current.items.count
            }
            let shown = Shelf<Product>.key(Int.random(in: 0..<hot))
            try await window.time {
                seen += try await forgetful.page(shown, offset: 0, limit: content.count, policy: .cacheOnly).items.count
            }
            let number = Int.random(in: 0..<hot)
            try await first.time {
                let list = shelf.list(number, of: shelf.repository())
                try await list.load(.cacheOnly)
                seen += list.current.items.count
            }
        }
        // Where the caller is no main thread, none has to be woken.
        let pooled = try await Task.detached { try await firstLoads(shelf, forgetful, rounds) }.value
        try expect(seen == rounds * 7 * content.count, "the whole page each time")

        Figure.title("50 items × 500 B, not in memory, µs. limit: JSONDecoder alone, item by item")
        Figure("JSONDecoder, item by item", alone, limit: alone).print()
        Figure("  all 50 as one array", atOnce, limit: alone).print()
        Figure("  JSONItemCodec, item by item, from the page's bytes", slices, limit: alone).print()
        Figure("by hand: record, list and page out of the store, decoded at once", byHand, limit: alone).print()
        Figure("a list's first load(.cacheOnly), nothing kept in memory", load, limit: alone, target: .ratio(1.05)).print()
        Figure("  asked from a task of the pool", pooled, limit: alone).print()
        Figure("repository.page(0, 50, .cacheOnly)", window, limit: alone, target: .ratio(1.05)).print()
        Figure("a new repository, and its list's first load(.cacheOnly)", first, limit: alone, target: .ratio(1.05)).print()
    }

    private static func firstLoads(
        _ shelf: Shelf<Product>, _ repository: PagedRepository<Product>, _ rounds: Int
    ) async throws -> Samples {
        var samples = Samples()
        for _ in 0..<rounds {
            let opened = Int.random(in: 0..<hot)
            try await samples.time {
                let list = shelf.list(opened, of: repository)
                try await list.load(.cacheOnly)
                try expect(!list.current.items.isEmpty, "a page")
            }
        }
        return samples
    }
}
