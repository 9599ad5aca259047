import Foundation
import Measuring
import PageModel
import PagedRepository
import PageStore

/// Pages that are not in memory, against the decoder alone.
enum Decoding {
    private static let hot = 50

    static func run(rounds: Int) async throws {
        try await StoredLists<Product>.with(lists: 1_000) { stored in
            // On the pool, as a service does. No other thread has to be woken for the decoding there.
            let onThePool = try await Task.detached { try await samples(stored, rounds) }.value
            let onMain = try await samples(stored, rounds)

            Figure.title("50 items × 500 B, not in memory, µs. limit: JSONDecoder alone, item by item")
            let alone = onThePool[.alone] ?? Samples()
            for contender in Contender.allCases {
                Figure(contender.rawValue, onThePool[contender] ?? Samples(), limit: alone, target: contender.target)
                    .print()
            }
            Figure.title("The same from the main thread. limit: JSONDecoder alone, there")
            let aloneOnMain = onMain[.alone] ?? Samples()
            for contender in [Contender.alone, .window, .load] {
                Figure(contender.rawValue, onMain[contender] ?? Samples(), limit: aloneOnMain).print()
            }
        }
    }

    private enum Contender: String, CaseIterable {
        case alone = "JSONDecoder, item by item"
        case atOnce = "  all 50 as one array"
        case slices = "  JSONItemCodec, item by item, from the page's bytes"
        case byHand = "by hand: record, list and page out of the store, decoded at once"
        case window = "repository.page(0, 50, .cacheOnly)"
        case load = "a list's first load(.cacheOnly), nothing kept in memory"
        case first = "a new repository, and its list's first load(.cacheOnly)"

        var target: Figure.Target? { self == .window || self == .load ? .ratio(1.05) : nil }
    }

    /// Each round has another order: who comes after whom is worth a tenth.
    private static func samples(_ stored: StoredLists<Product>, _ rounds: Int) async throws -> [Contender: Samples] {
        let bench = try Bench(stored)
        var samples: [Contender: Samples] = [:]
        for _ in 0..<rounds {
            for contender in Contender.allCases.shuffled() {
                let key = Int.random(in: 0..<hot)
                let start = ContinuousClock.now
                let count = try await bench.decode(contender, key)
                samples[contender, default: Samples()].add(ContinuousClock.now - start)
                try expect(count == bench.content.count, "the whole page each time")
            }
        }
        return samples
    }

    private struct Bench {
        let content: PageContent
        private let stored: StoredLists<Product>
        private let codec = JSONItemCodec<Product>()
        private let decoder = JSONDecoder()
        /// The input of the decoder, prepared so that its time contains the decoding only.
        private let payloads: [Data]
        private let joined: Data
        /// A repository that keeps no pages in memory.
        private let forgetful: ListRepository<Product>

        init(_ stored: StoredLists<Product>) throws {
            self.stored = stored
            let content = try Product.page()
            self.content = content
            payloads = (0..<content.count).map { Data(content.payload(at: $0)) }
            joined = Data("[".utf8) + Data(payloads.joined(separator: Data(",".utf8))) + Data("]".utf8)
            forgetful = stored.repository(memoryBudget: 0)
        }

        /// How many items came of it.
        func decode(_ contender: Contender, _ number: Int) async throws -> Int {
            switch contender {
            case .alone: return try payloads.map { try decoder.decode(Product.self, from: $0) }.count
            case .atOnce: return try decoder.decode([Product].self, from: joined).count
            case .slices: return try (0..<content.count).map { try codec.decode(content.payload(at: $0)) }.count
            case .byHand:
                guard let query = try await stored.store.query(StoredLists<Product>.key(number))?.id,
                    let reading = try await stored.store.list(of: query, reading: { [0..<$0.length] }),
                    let part = reading.windows.first?.parts.first, let values = codec.values(of: part.content)
                else { throw Unexpected("a page") }
                return values.count
            case .window:
                let key = StoredLists<Product>.key(number)
                return try await forgetful.page(key, offset: 0, limit: content.count, policy: .cacheOnly).items.count
            // A list that the program keeps has its snapshot in memory. This list has none.
            case .load: return try await load(stored.list(number, of: forgetful))
            case .first: return try await load(stored.list(number, of: stored.repository()))
            }
        }

        private func load(_ list: PagedList<Product>) async throws -> Int {
            try await list.load(.cacheOnly)
            return list.current.items.count
        }
    }
}
