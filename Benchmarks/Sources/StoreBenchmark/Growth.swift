import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide

/// The same work on a store that grows: what does a page cost in a list of a hundred thousand items, of a million, of
/// ten?
enum Growth {
    static let name = "growth"

    static func run(items sizes: [Int]) async throws {
        let material = Material()
        try await TwoStores.with { stores in
            var list = try await stores.register("list")
            var held = 0
            for size in sizes {
                let pages = size / 50
                Pair.header("a list of \(size) items")
                // Only the last thousand are measured: the list has its size then.
                let commit = Pair(name, "commit, at \(size) items", target: 1.25)
                for number in held..<pages {
                    let page = stores.putting(material.prepared(number), at: number * 50, into: list)
                    if number >= pages - 1_000 {
                        try await commit.both(page)
                    } else {
                        try page.ours()
                        page.limit()
                    }
                }
                held = pages
                commit.print()
                let read = Pair(name, "read, own thread, at \(size) items", target: 1.3)
                try await Sizes.reads(stores, [list], pages, material, read, rounds: 4_000)
                try await ages(stores, list, pages, size)
                try await failures(stores, list, pages, size)
            }
            try await Lists.shifts(stores, &list, held, "\(name), at \(sizes.last ?? 0) items")
        }
    }

    private static func ages(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int, _ size: Int) async throws {
        let pair = Pair(name, "refresh, unchanged, at \(size) items", target: 1.5)
        for _ in 0..<2_000 { try await pair.both(stores.confirming(Int.random(in: 0..<pages) * 50, of: list)) }
        pair.print()
    }

    /// At positions after the list; what arrives there later takes their place.
    private static func failures(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int, _ size: Int) async throws {
        let pair = Pair(name, "ledger: a failure, at \(size) items", target: 1.25)
        let direct = stores.direct
        for number in 0..<1_000 {
            stores.tick()
            let (offset, clock) = ((pages + number) * 50, stores.clock)
            let failed = LedgerEdit.failed(offset: offset, failure: .status(503), nextAttemptIn: .seconds(30))
            try await pair.ours { try direct.record([failed], for: list.ours) }
            await pair.limit {
                precondition(limit_ledger(stores.limit, list.limit, Int64(offset), clock.milliseconds) == 0)
            }
        }
        pair.print()
    }
}
