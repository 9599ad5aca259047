import Measuring
import PageModel
import PageStore
import SQLiteLimit
import SideBySide

/// Work on a list of many pages as a whole: windows over pages, all of it in order, an item by its id, positions that
/// move, its ledger.
enum Lists {
    static func run(pages: Int) async throws {
        try await TwoStores.with { stores in
            let name = "a list of \(pages * 50) items"
            Pair.header(name)
            var list = try await stores.fill("list", pages: pages)
            try await windows(stores, list, pages, name)
            try await finding(stores, list, pages, name)
            // Before the ledger fills with failures and leases, which would have to move along in both stores.
            try await shifts(stores, &list, pages, name)
            try await ledger(stores, list, pages, name)
        }
    }

    private static func windows(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int, _ name: String) async throws
    {
        let window = Pair(name, "a window of 100 items across 3 pages", target: 1.3)
        let export = Pair(name, "the whole list in order, 1,000 items a read, per read")
        let reads = stores.direct
        var out = limit_page()
        for _ in 0..<2_000 {
            let places = (0..<2).map { _ in Int.random(in: 0..<pages - 3) * 50 + 25 }
            try await window.ours {
                let parts = try reads.window(of: list.ours, places[0]..<places[0] + 100)?.parts ?? []
                try expect(parts.reduce(0) { $0 + $1.content.count } == 100)
            }
            await window.limit {
                precondition(
                    limit_read_range(stores.limit, list.limit, Int64(places[1]), Int64(places[1] + 100), &out) == 0)
            }
        }
        window.print()
        for start in stride(from: 0, to: pages / 20 * 1_000, by: 1_000) {
            try await export.ours {
                try expect(try reads.window(of: list.ours, start..<start + 1_000)?.parts.count == 20)
            }
            await export.limit {
                precondition(limit_read_range(stores.limit, list.limit, Int64(start), Int64(start + 1_000), &out) == 0)
            }
        }
        export.print()
        limit_page_free(&out)
    }

    static func finding(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int, _ name: String) async throws {
        let pair = Pair(name, "find an item by its id")
        for _ in 0..<20 {
            let item = Int.random(in: 0..<pages * 50)
            let key = ItemIdentity.key(ofID: "item-\(item)")
            try await pair.ours {
                try expect(try await stores.store.locate([key], in: list.ours).mapValues(\.position) == [key: item])
            }
            await pair.limit {
                var position: Int64 = 0
                precondition(
                    limit_locate(stores.limit, list.limit, [key], 1, &position) == 0 && position == Int64(item))
            }
        }
        pair.print()
    }

    static func shifts(_ stores: TwoStores, _ list: inout TwoStores.List, _ pages: Int, _ name: String) async throws {
        let pair = Pair(name, "shift the whole list by 1, with its ledger")
        for round in 0..<10 {
            stores.tick()
            let item = PageContent([RawItem(payload: [1], id: "new-\(round)")])
            let plan = stores.plan(list, [.splice(0..<0, PageWrite(offset: 0, content: item, evidence: .inferred))])
            var version = list.version
            try await pair.ours {
                let outcome = try await stores.store.commit(plan)
                guard case .committed(let now) = outcome else { throw Unexpected("expected: a commit") }
                version = now
            }
            list.version = version
            await pair.limit { precondition(limit_shift(stores.limit, list.limit, 0, 1, Int64(version.revision)) == 0) }
        }
        pair.print()
    }

    private static func ledger(_ stores: TwoStores, _ list: TwoStores.List, _ pages: Int, _ name: String) async throws {
        let direct = stores.direct
        for (round, words) in ["first of its page", "not the first"].enumerated() {
            let pair = Pair(name, "ledger: a failure, \(words)", target: 1.25)
            for number in 0..<pages {
                stores.tick()
                let (offset, clock) = (pages * 50 + number * 50, stores.clock)
                let failed = LedgerEdit.failed(
                    offset: offset, failure: .status(503), nextAttemptIn: .seconds(30 + round))
                try await pair.ours { try direct.record([failed], for: list.ours) }
                await pair.limit {
                    precondition(limit_ledger(stores.limit, list.limit, Int64(offset), clock.milliseconds) == 0)
                }
            }
            pair.print()
        }
        let lease = Pair(name, "ledger: a lease", target: 1.25)
        for number in 0..<pages {
            stores.tick()
            let (offset, clock) = (pages * 100 + number * 50, stores.clock)
            let expiry = clock + .seconds(60)
            try await lease.ours {
                try expect(
                    try direct.claim(LeaseRequest([offset], for: .seconds(60)), of: list.ours).offsets == [offset])
            }
            await lease.limit {
                precondition(
                    limit_claim(stores.limit, list.limit, Int64(offset), clock.milliseconds, expiry.milliseconds, nil)
                        == 0)
            }
        }
        lease.print()
        let due = Pair(name, "due: the first 100 of \(pages)")
        let (moment, store) = (stores.clock + .seconds(9_999), stores.store)
        for _ in 0..<200 {
            try await due.ours {
                try expect(try await store.due(within: .seconds(9_999), limit: 100).fetches.count == 100)
            }
            await due.limit { precondition(limit_due(stores.limit, moment.milliseconds, 100, nil) == 0) }
        }
        due.print()
    }
}
