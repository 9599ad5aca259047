import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide

/// Pages of 50 items of 500 bytes: arriving, being read, and being fetched again.
enum Pages {
    static let name = "one page of 50 × 500 B"

    static func run(pages: Int, commitsOnly: Bool) async throws {
        try await TwoStores.with { stores in
            Pair.header("\(name), \(pages) of them")
            let hop = Pair(name, "a hop to another thread and back")
            for _ in 0..<1_000 { try await hop.ours { try expect(try await stores.store.query(QueryKey("x")) == nil) } }
            hop.print()
            let list = try await commits(stores, pages)
            if commitsOnly { return }
            try await reads(stores, list, pages)
            try await refreshes(stores, list, pages)
        }
    }

    private static func commits(_ stores: TwoStores, _ pages: Int) async throws -> TwoStores.List {
        let list = try await stores.register("list")
        let pair = Pair(name, "commit a page", target: 1.25)
        let material = Material()
        for number in 0..<pages { try await pair.both(stores.putting(material.prepared(number), at: number * 50, into: list)) }
        pair.print()
        return list
    }

    private static func reads(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int) async throws {
        var out = limit_page()
        for (words, isHot) in [("any of all", false), ("one of 50", true)] {
            let own = Pair(name, "read a page, \(words), own thread", target: 1.3)
            let hop = Pair(name, "read a page, \(words), async", target: 2)
            let reads = stores.direct
            for _ in 0..<min(max(pages, 4_000), 10_000) {
                let places = (0..<3).map { _ in Int.random(in: 0..<(isHot ? 50 : pages)) * 50 }
                try await own.ours { try expect(try reads.page(at: places[0], of: list.ours)?.content.count == 50) }
                try await hop.ours { try expect(try await stores.store.page(at: places[1], of: list.ours)?.content.count == 50) }
                let code = await own.limit { limit_read_page(stores.limit, list.limit, Int64(places[2]), &out) }
                precondition(code == 0)
            }
            own.print()
            hop.compare(with: own)
            hop.print()
        }
        limit_page_free(&out)
    }

    private static func refreshes(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int) async throws {
        let unchanged = Pair(name, "refresh, unchanged page", target: 1.5)
        let changed = Pair(name, "refresh, changed page", target: 1.25)
        for number in 0..<pages { try await unchanged.both(stores.confirming(number * 50, of: list)) }
        unchanged.print()
        let material = Material()
        for number in 0..<min(pages, 4_000) {
            stores.tick()
            try await changed.both(stores.replacing(material.prepared(number, edition: 1), at: number * 50, of: list))
        }
        changed.print()
    }
}
