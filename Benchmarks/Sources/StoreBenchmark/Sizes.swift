import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide

/// Pages of other sizes, and the same pages spread over many lists.
enum Sizes {
    private static let volume = 100_000_000

    static func run(isQuick: Bool) async throws {
        for bytes in [200, 2_000, 20_000] {
            for items in [10, 50, 500] {
                let material = Material(items: items, bytes: bytes)
                let pages = max(10, min(1_000, volume / (items * bytes))) / (isQuick ? 5 : 1)
                try await one(material, pages)
            }
        }
    }

    private static func one(_ material: Material, _ pages: Int) async throws {
        let name = "pages of other sizes"
        try await TwoStores.with { stores in
            Pair.header("pages of \(material.text)")
            let list = try await stores.register("list")
            let commit = Pair(name, "commit \(material.text)", target: 1.25)
            let read = Pair(name, "read \(material.text), own thread", target: 1.3)
            for number in 0..<pages {
                try await commit.both(
                    stores.putting(material.prepared(number), at: number * material.items, into: list))
            }
            commit.print()
            try await reads(stores, [list], pages, material, read)
        }
    }

    /// The same pages as one list, and as a thousand lists.
    static func spread(pages: Int) async throws {
        let material = Material()
        for lists in [1, 1_000] {
            let name = "\(pages) pages in \(lists == 1 ? "one list" : "\(lists) lists")"
            try await TwoStores.with { stores in
                Pair.header(name)
                var all: [TwoStores.List] = []
                for number in 0..<lists { all.append(try await stores.register("list-\(number)")) }
                let commit = Pair("one list and many", "commit, \(name)", target: 1.25)
                for number in 0..<pages {
                    let page = material.prepared(number / lists)
                    try await commit.both(stores.putting(page, at: number / lists * 50, into: all[number % lists]))
                }
                commit.print()
                let read = Pair("one list and many", "read, \(name)", target: 1.3)
                try await reads(stores, all, pages / lists, material, read)
            }
        }
    }

    static func reads(
        _ stores: TwoStores, _ lists: [TwoStores.List], _ pages: Int, _ material: Material, _ pair: Pair,
        rounds: Int = 2_000
    ) async throws {
        let reads = stores.direct
        var out = limit_page()
        for _ in 0..<rounds {
            let places = (0..<2).map { _ in
                (list: lists[Int.random(in: 0..<lists.count)], at: Int.random(in: 0..<pages) * material.items)
            }
            try await pair.ours {
                try expect(try reads.page(at: places[0].at, of: places[0].list.ours)?.content.count == material.items)
            }
            await pair.limit {
                precondition(limit_read_page(stores.limit, places[1].list.limit, Int64(places[1].at), &out) == 0)
            }
        }
        limit_page_free(&out)
        pair.print()
    }
}
