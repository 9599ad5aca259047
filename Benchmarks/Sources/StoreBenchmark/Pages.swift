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
            let hop = Pair(name, "look up a list that does not exist")
            for _ in 0..<1_000 { try await hop.ours { try expect(try await stores.store.query(QueryKey("x")) == nil) } }
            hop.print()
            let unchecked = try TwoStores.openLimit(in: stores.directory, hasChecksum: false)
            defer { limit_close(unchecked) }
            let list = try await commits(stores, unchecked, pages)
            if commitsOnly { return }
            try await reads(stores, unchecked, list, pages)
            try await refreshes(stores, unchecked, list, pages)
        }
    }

    private static func commits(_ stores: TwoStores, _ unchecked: OpaquePointer, _ pages: Int) async throws
        -> TwoStores.List
    {
        let list = try await stores.register("list")
        try expect(limit_register(unchecked, "list") == list.limit, "one number for the list")
        let pair = Pair(name, "commit a page", target: 1.25)
        let material = Material()
        for number in 0..<pages {
            let page = material.prepared(number)
            try await pair.both(stores.putting(page, at: number * 50, into: list))
            pair.unchecked { stores.write(page, at: number * 50, into: list, limit_commit_page, of: unchecked) }
        }
        pair.print()
        pair.printMean()
        return list
    }

    private static func reads(
        _ stores: TwoStores, _ unchecked: OpaquePointer, _ list: TwoStores.List, _ pages: Int
    ) async throws {
        var out = limit_page()
        for (words, isHot) in [("any of all", false), ("one of 50", true)] {
            let own = Pair(name, "read a page, \(words), own thread", target: 1.3)
            let hop = Pair(name, "read a page, \(words), async", target: 2)
            let reads = stores.direct
            for _ in 0..<min(max(pages, 4_000), 10_000) {
                let places = (0..<4).map { _ in Int.random(in: 0..<(isHot ? 50 : pages)) * 50 }
                try await own.ours { try expect(try reads.page(at: places[0], of: list.ours)?.content.count == 50) }
                try await hop.ours {
                    try expect(try await stores.store.page(at: places[1], of: list.ours)?.content.count == 50)
                }
                let code = await own.limit { limit_read_page(stores.limit, list.limit, Int64(places[2]), &out) }
                precondition(code == 0)
                own.unchecked { precondition(limit_read_page(unchecked, list.limit, Int64(places[3]), &out) == 0) }
            }
            own.print()
            hop.compare(with: own)
            hop.print()
        }
        limit_page_free(&out)
    }

    private static func refreshes(
        _ stores: TwoStores, _ unchecked: OpaquePointer, _ list: TwoStores.List, _ pages: Int
    ) async throws {
        let unchanged = Pair(name, "refresh, unchanged page", target: 1.5)
        let changed = Pair(name, "refresh, changed page", target: 1.25)
        for number in 0..<pages { try await unchanged.both(stores.confirming(number * 50, of: list)) }
        unchanged.print()
        let material = Material()
        for number in 0..<min(pages, 4_000) {
            stores.tick()
            let page = material.prepared(number, edition: 1)
            try await changed.both(stores.replacing(page, at: number * 50, of: list))
            changed.unchecked { stores.write(page, at: number * 50, into: list, limit_replace_page, of: unchecked) }
        }
        changed.print()
    }
}
