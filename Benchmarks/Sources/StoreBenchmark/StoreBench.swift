import Foundation
import Measuring
import PageModel
import PageStore
import SQLiteLimit

/// Pages of 50 items of 500 bytes, in both stores.
final class StoreBench {
    private let store: PageStore
    private let limit: OpaquePointer
    private let pages: Int
    private let query: QueryID
    private let limitQuery: Int64
    private var version = ListVersion(generation: 1, revision: 0)
    private var clock = Timestamp(milliseconds: 1_800_000_000_000)
    private var random = SystemRandomNumberGenerator()

    init(directory: String, schema: String, pages: Int) async throws {
        self.pages = pages
        store = try await PageStore.open(at: "\(directory)/ours.sqlite", mode: .createIfMissing, now: clock)
        guard let limit = limit_open("\(directory)/limit.sqlite", schema, limit_options(with_checksum: 1)) else {
            fatalError(String(cString: limit_error(nil)))
        }
        self.limit = limit
        query = try await store.register(QueryKey("list"), at: clock).id
        limitQuery = limit_register(limit, "list")
    }

    func run(commitsOnly: Bool) async throws {
        Samples.header()
        let hop = Samples("a hop to another thread and back")
        for _ in 0..<1_000 { try await hop.ours { try expect(try await store.query(QueryKey("x")) == nil) } }
        hop.print()
        try await commits()
        if commitsOnly { return }
        try await reads()
        try await refreshes()
        try await finding()
        // Before the ledger fills with failures and leases, which would have to move along in both stores.
        try await shifts()
        try await ledger()
        await store.close()
        limit_close(limit)
    }

    // MARK: Work

    private func commits() async throws {
        let samples = Samples("commit a page of 50 × 500 B", target: 1.25)
        let direct = store.synchronously
        for number in 0..<pages {
            let content = page(number)
            let plan = plan(
                [.put(PageWrite(offset: number * 50, content: content, evidence: .inferred))], [.succeeded(offset: number * 50)])
            try await samples.ours { try expect(try direct.commit(plan) == .committed(version)) }
            // What a C program would have in hand: the same bytes, and the hashes it would have computed itself.
            let (layout, hashes) = (layout(of: content), content.identities)
            await samples.limit {
                let checksum = content.bytes.withUnsafeBytes { limit_xxh64($0.baseAddress!, $0.count, limit_xxh64(layout, layout.count, 0)) }
                let code = content.bytes.withUnsafeBytes { payload in
                    hashes.withUnsafeBytes { hashes in
                        limit_commit_page(
                            limit, limitQuery, Int64(number * 50), 50, layout, layout.count, payload.baseAddress!, payload.count,
                            hashes.baseAddress!, hashes.count, checksum, 1, clock.milliseconds)
                    }
                }
                precondition(code == 0)
            }
        }
        samples.print()
    }

    private func reads() async throws {
        var out = limit_page()
        for (name, target, isHot) in [("read a page, any of all", 1.3, false), ("read a page, one of 50", 1.3, true)] {
            let own = Samples("\(name): on the caller's thread", target: target)
            let hop = Samples("\(name): async", target: 2)
            let reads = store.synchronously
            for _ in 0..<max(pages, 4_000) {
                func position() -> Int { Int.random(in: 0..<(isHot ? 50 : pages), using: &random) * 50 }
                let places = (0..<3).map { _ in position() }
                try await own.ours { try expect(try reads.page(at: places[0], of: query)?.content.count == 50) }
                try await hop.ours { try expect(try await store.page(at: places[1], of: query)?.content.count == 50) }
                let code = await own.limit { limit_read_page(limit, limitQuery, Int64(places[2]), &out) }
                precondition(code == 0)
            }
            own.print()
            hop.compare(with: own)
            hop.print()
        }
        limit_page_free(&out)
    }

    private func refreshes() async throws {
        let samples = Samples("refresh, unchanged page", target: 1.5)
        let direct = store.synchronously
        for number in 0..<pages {
            tick()
            let plan = plan([.confirm(offset: number * 50, validator: nil)])
            try await samples.ours { try expect(try direct.commit(plan) == .committed(version)) }
            await samples.limit { precondition(limit_confirm(limit, limitQuery, Int64(number * 50), clock.milliseconds) == 0) }
        }
        samples.print()
    }

    private func ledger() async throws {
        let new = Samples("ledger: a failure, first of its page", target: 1.25)
        let again = Samples("ledger: a failure, not the first", target: 1.25)
        let lease = Samples("ledger: a lease", target: 1.25)
        let failure = FetchFailure.status(503)
        let direct = store.synchronously
        for (round, samples) in [new, again].enumerated() {
            for number in 0..<pages {
                tick()
                let offset = pages * 50 + number * 50
                try await samples.ours {
                    try direct.record([.failed(offset: offset, failure: failure, nextAttemptAt: clock + .seconds(30 + round))], for: query, at: clock)
                }
                await samples.limit { precondition(limit_ledger(limit, limitQuery, Int64(offset), clock.milliseconds) == 0) }
            }
            samples.print()
        }
        for number in 0..<pages {
            tick()
            let offset = pages * 100 + number * 50
            let expiry = clock + .seconds(60)
            try await lease.ours { try expect(try direct.claim([offset], of: query, until: expiry, at: clock) == [offset]) }
            await lease.limit {
                precondition(limit_claim(limit, limitQuery, Int64(offset), clock.milliseconds, expiry.milliseconds, nil) == 0)
            }
        }
        lease.print()
        let due = Samples("due: 100 of \(pages)")
        for _ in 0..<200 {
            try await due.ours { try expect(try await store.due(before: clock + .seconds(9_999), limit: 100).count == 100) }
            await due.limit { precondition(limit_due(limit, clock.milliseconds + 9_999_000, 100, nil) == 0) }
        }
        due.print()
    }

    private func finding() async throws {
        let samples = Samples("find an item by id among \(pages * 50)")
        for _ in 0..<20 {
            let item = Int.random(in: 0..<pages * 50, using: &random)
            let key = ItemIdentity.key(ofID: "item-\(item)")
            try await samples.ours { try expect(try await store.locate([key], in: query) .mapValues(\.position) == [key: item]) }
            await samples.limit {
                var position: Int64 = 0
                precondition(limit_locate(limit, limitQuery, [key], 1, &position) == 0 && position == Int64(item))
            }
        }
        samples.print()
    }

    private func shifts() async throws {
        let samples = Samples("shift \(pages) pages with their ledger, by 1")
        for round in 0..<10 {
            tick()
            let item = PageContent([Item(payload: [1], id: "new-\(round)")])
            let edits: [ListEdit] = [.splice(0..<0, PageWrite(offset: 0, content: item, evidence: .inferred))]
            let plan = plan(edits)
            try await samples.ours {
                guard case .committed(let now) = try await store.commit(plan) else { throw Unexpected("expected: a commit") }
                version = now
            }
            await samples.limit { precondition(limit_shift(limit, limitQuery, 0, 1, Int64(version.revision)) == 0) }
        }
        samples.print()
    }

    // MARK: Material

    private func page(_ number: Int) -> PageContent {
        PageContent(
            (number * 50..<number * 50 + 50).map { item in
                Item(payload: Array(repeating: UInt8(truncatingIfNeeded: item), count: 500), id: "item-\(item)")
            })
    }

    /// As the store lays it out: a format byte, the count, and per item the length of its payload and its id.
    private func layout(of content: PageContent) -> [UInt8] {
        var layout: [UInt8] = [1, 50]
        for id in content.ids {
            layout += [0xf4, 3, UInt8((id?.utf8.count ?? 0) + 1)]
            layout += Array((id ?? "").utf8)
        }
        return layout
    }

    private func plan(_ edits: [ListEdit], _ ledger: [LedgerEdit] = []) -> CommitPlan {
        CommitPlan(query: query, version: version, at: clock, edits: edits, ledger: ledger)
    }

    private func tick() { clock = clock + .milliseconds(1) }
}
