import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide

/// Lists that go, wholly or in part.
enum Upkeep {
    static let name = "making room"

    static func run(rounds: Int) async throws {
        try await TwoStores.with { stores in
            Pair.header(name)
            try await purges(stores, rounds)
            try await evictions(stores, rounds)
        }
    }

    private static func purges(_ stores: TwoStores, _ rounds: Int) async throws {
        let pair = Pair(name, "purge a list of 1,000 pages, overwriting it")
        for round in 0..<rounds {
            let list = try await stores.fill("purged-\(round)", pages: 1_000)
            try await pair.ours { try expect(try await stores.store.purge([list.ours]).pages == 1_000) }
            await pair.limit { precondition(limit_purge(stores.limit, list.limit) == 0) }
        }
        pair.print()
    }

    private static func evictions(_ stores: TwoStores, _ rounds: Int) async throws {
        let pair = Pair(name, "evict 1,000 of 4,000 pages")
        let offsets = (3_000..<4_000).map { Int64($0 * 50) }
        for round in 0..<rounds {
            let list = try await stores.fill("evicted-\(round)", pages: 4_000)
            // Of pages that were fetched together the last go first.
            let budget = EvictionBudget(pagesPerQuery: 3_000)
            try await pair.ours {
                try expect(try await stores.store.evict(to: budget, exempt: []).pages == 1_000)
            }
            await pair.limit { precondition(limit_evict(stores.limit, list.limit, offsets, offsets.count) == 0) }
            try expect(try await stores.store.purge([list.ours]).pages == 3_000)
            precondition(limit_purge(stores.limit, list.limit) == 0)
        }
        pair.print()
    }
}
