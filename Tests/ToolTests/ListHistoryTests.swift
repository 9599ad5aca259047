#if Tool
import PageModel
import PageStore
import StorageSupport
import Testing
@testable import pagecache

@Suite("The events between two outlines of a list")
struct ListHistoryTests {
    private func kinds(_ old: ListOutline?, _ new: ListOutline?) -> [ListEvent.Kind] {
        ListHistory.events(from: old, to: new).map(\.kind)
    }

    private func bench() async throws -> Bench<SQLitePageStore> { try await Bench<SQLitePageStore>() }

    @Test("A new query is reported as registered, and a removed one as purged")
    func comeAndGo() async throws {
        let bench = try await bench()
        let list = try await bench.list
        #expect(kinds(nil, list) == [.registered])
        #expect(kinds(list, nil) == [.purged])
        #expect(kinds(nil, nil) == [])
    }

    @Test("A stored page is reported once")
    func stored() async throws {
        let bench = try await bench()
        let before = try await bench.list
        try await bench.put(0, items(0..<10))
        let after = try await bench.list
        #expect(kinds(before, after) == [.stored(0..<10)])
        #expect(kinds(after, after) == [])
        let event = try #require(ListHistory.events(from: before, to: after).first)
        #expect(event.held == 10)
        #expect(event.length == nil, "the length is unknown")
    }

    @Test("A revision that moves no item is not reported as a move")
    func nothingMoved() async throws {
        let bench = try await bench()
        try await bench.put(0, items(0..<20))
        let before = try await bench.list
        try await bench.commit([.truncate(at: 20)])
        let after = try await bench.list
        #expect(after.record.version.revision > before.record.version.revision)
        #expect(kinds(before, after) == [])
        try await bench.commit([.splice(3..<4, nil)])
        #expect(kinds(after, try await bench.list).first == .moved)
    }

    @Test("Fetching equal content is reported as a confirmation, and neighbouring pages as one (R6)")
    func confirmed() async throws {
        let bench = try await bench()
        try await bench.put(0, items(0..<10))
        try await bench.put(10, items(10..<20))
        let before = try await bench.list
        try await bench.put(0, items(0..<10), at: noon + .seconds(60))
        try await bench.put(10, items(10..<20), at: noon + .seconds(60))
        let after = try await bench.list
        #expect(kinds(before, after) == [.confirmed(0..<20)])
    }

    @Test("Each failed attempt is reported once with the next attempt, and so is the recovery")
    func failures() async throws {
        let bench = try await bench()
        try await bench.put(0, items(0..<10))
        let before = try await bench.list
        func fail(at moment: Timestamp) async throws -> ListOutline {
            let lease = try await bench.store.claim(LeaseRequest([10], for: .seconds(60)), of: bench.query, at: moment)
                .leases[0].token
            try await bench.store.record(
                [.failed(offset: 10, failure: .status(503), nextAttemptIn: .seconds(2), lease: lease)], for: bench.query
            )
            return try await bench.list
        }
        let first = try await fail(at: noon)
        guard case .failed(let entry) = kinds(before, first).first else {
            Issue.record("the failure is not reported: \(kinds(before, first))")
            return
        }
        #expect(entry.attempts == 1)
        #expect(kinds(first, first) == [])
        let second = try await fail(at: noon + .seconds(3))
        #expect(kinds(first, second).count == 1, "a second attempt is a new failure")

        let lease = try await bench.store.claim(
            LeaseRequest([10], for: .seconds(60)), of: bench.query, at: noon + .seconds(9)
        ).leases[0]
        let asking = try await bench.list
        guard case .retried(let again) = kinds(second, asking).first else {
            Issue.record("the retry is not reported: \(kinds(second, asking))")
            return
        }
        #expect(again.attempts == 3)
        try await bench.commit(
            [.insertPage(PageWrite(offset: 10, content: items(10..<20), evidence: .verified))],
            ledger: [.succeeded(offset: 10, lease: lease.token)])
        #expect(kinds(asking, try await bench.list).contains(.recovered(10)))
    }

    @Test("Every event has its own name, and the same members as all others")
    func rendering() async throws {
        let bench = try await bench()
        let list = try await bench.list
        let event = ListHistory.events(from: nil, to: list)[0]
        let entry = LedgerEntry(
            offset: 3, state: .failedRetryable, attempts: 2, nextAttemptAt: noon + .seconds(5), failure: .status(500))
        let kinds: [ListEvent.Kind] = [
            .registered, .stored(0..<3), .confirmed(0..<3), .dropped(0..<3), .moved, .replaced, .total(.exact(3)),
            .ended(3),
            .failed(entry), .retried(entry), .recovered(3), .purged,
        ]
        var names: Set<String> = []
        for kind in kinds {
            var event = event
            event.kind = kind
            let rendering = ListEventRendering(event: event, key: list.record.key, at: noon)
            names.insert(rendering.name)
            #expect(!rendering.sentence.isEmpty)
            #expect(
                rendering.csv.split(separator: ",", omittingEmptySubsequences: false).count
                    == ListEventRendering.csvNames.count)
        }
        #expect(names.count == kinds.count)
    }

    @Test("A narrow view keeps the failures and the key, and drops the rate and the pin first")
    func failing() {
        let key: QueryKey = "https://api.example.com/v1/customers/4711/orders?sort=created&order=desc"
        var list = Sample.list(
            [Sample.page(0..<100)], total: .exact(12_345), ledger: (1..<40).map { Sample.failing($0 * 100) },
            isPinned: true, key: key)
        list.record.freshFor = .seconds(600)
        for columns in [60, 80, 120] {
            let line = WatchView().lines([list], columns: columns, rows: 24, now: Sample.now)[1]
            #expect(line.count <= columns)
            #expect(line.contains("39 failing pages"), "\(line)")
            #expect(line.hasSuffix("er=desc"), "\(line)")
        }
        let narrow = WatchView().lines([list], columns: 60, rows: 24, now: Sample.now)[1]
        #expect(!narrow.contains("pinned"))
    }

    @Test(
        "A view of 20 and 40 columns keeps the failures, the errors, the last path segment and the key that ends it",
        arguments: [20, 40])
    func narrow(columns: Int) {
        let key: QueryKey = "https://api.example.com/v2/regions/europe/orders?open=1"
        let before = Sample.list([Sample.page(0..<100)], total: .exact(12_345), key: key)
        let list = Sample.list([Sample.page(0..<100)], total: .exact(12_345), ledger: [Sample.failing(300)], key: key)
        var view = WatchView()
        view.takesKeys = true
        for event in ListHistory.events(from: before, to: list) {
            view.note(ListEventRendering(event: event, key: key, at: Sample.now))
        }
        let lines = view.lines([list], columns: columns, rows: 24, now: Sample.now)
        #expect(lines.allSatisfy { TextWidth.columns($0) <= columns }, "\(lines)")
        #expect(lines[0].contains("1 failing page"), "\(lines)")
        #expect(lines[1].contains("1 failing page"), "\(lines)")
        #expect(lines[2].hasSuffix("/orders?open=1"), "\(lines)")
        #expect(lines.last?.hasSuffix("q quit") == true, "\(lines)")
        // Once for the selected query, and once as an event.
        let text = lines.joined(separator: " ").replacing(/\s+/, with: " ")
        #expect(text.matches(of: /the origin answered 500/).count == 2, "\(lines)")
    }

    @Test("A list that has not grown for two seconds has no rate and no time left")
    func rate() {
        var view = WatchView()
        view.measure(Sample.list([Sample.page(0..<100)], total: .exact(1_000)), now: Sample.ago(.seconds(2)))
        let list = Sample.list([Sample.page(0..<200)], total: .exact(1_000))
        view.measure(list, now: Sample.ago(.seconds(1)))
        func line(_ later: Duration) -> String {
            view.lines([list], columns: 200, rows: 24, now: Sample.now + later)[1]
        }
        #expect(line(.zero).contains("100/s · 8 s left"), "\(line(.zero))")
        #expect(line(.milliseconds(999)).contains("100/s · 8 s left"))
        #expect(!line(.seconds(1)).contains("/s"), "\(line(.seconds(1)))")
        // Measurements without growth, as after failed requests, keep no rate alive.
        for second in 1...4 { view.measure(list, now: Sample.now + .seconds(second)) }
        #expect(!line(.seconds(4)).contains("left"), "\(line(.seconds(4)))")
    }

    @Test("The items of a query scroll, and have keys of their own")
    func scrolling() {
        var view = WatchView()
        view.takesKeys = true
        view.mode = .items(key: "k", lines: (0..<50).map { "item \($0)" }, top: 3)
        let lines = view.lines([], columns: 80, rows: 10, now: noon)
        #expect(lines.count == 10)
        #expect(lines[1] == "k" && lines[2] == "item 3" && lines[8] == "item 9")
        #expect(lines[9] == WatchView.itemKeys)
    }

    @Test(
        "The view fits its screen and contains no control characters",
        arguments: [(20, 5), (40, 10), (80, 24), (200, 60)])
    func view(columns: Int, rows: Int) async throws {
        let bench = try await bench()
        _ = try await bench.store.register(QueryKey("https://example.com/\u{1b}[2J"), at: noon)
        let lists = try await bench.store.summaries().map(\.outline)
        var view = WatchView()
        for list in lists {
            for event in ListHistory.events(from: nil, to: list) {
                view.note(ListEventRendering(event: event, key: list.record.key, at: noon))
            }
        }
        let lines = view.lines(lists, columns: columns, rows: rows, now: noon)
        #expect(lines.count <= rows)
        #expect(lines.allSatisfy { $0.count <= columns })
        #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 })
        #expect(lines[0].hasPrefix("pagecache watch"))
    }
}
#endif
