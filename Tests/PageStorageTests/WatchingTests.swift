import PageModel
import PageStore
import PagedRepositoryTesting
import StorageSupport
import Testing

/// Behaviour of every storage for observers of many lists and for readers of parts of a list.
@Suite("Observing a storage")
struct WatchingTests {
    @Test(
        "A read returns a list together with the selected ranges, in order and no others (R2)",
        arguments: StorageKind.allCases)
    func picked(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        for page in 0..<30 { try await bench.put(page * 10, items(page * 10..<page * 10 + 10)) }
        let reading = try #require(
            try await bench.store.list(of: bench.query) { list in
                [list.pages[2].range, 155..<158, 400..<410, 5..<5]
            })
        #expect(reading.outline == (try await bench.list))
        #expect(
            reading.windows.map { $0.parts.flatMap { Array($0.content.ids) } } == [
                (20..<30).map { "i\($0)" }, (155..<158).map { "i\($0)" }, [], [],
            ])
        for (window, range) in zip(reading.windows, [20..<30, 155..<158, 400..<410]) {
            #expect(window == (try await bench.store.window(of: bench.query, range)))
        }
        // Long and short lists are read in different ways.
        let whole = try #require(try await bench.store.list(of: bench.query) { _ in [0..<300] })
        #expect(whole.windows.first?.parts.count == 30)
        #expect(try await bench.store.list(of: bench.query) { _ in [] }?.windows == [])
        #expect(try await bench.store.list(of: QueryID(rawValue: 99)) { _ in [0..<1] } == nil)
    }

    @Test("A selected range counts as used (R40)", arguments: StorageKind.allCases)
    func used(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<10))
        try await bench.put(10, items(10..<20), at: noon + .seconds(1))
        _ = try await bench.store.list(of: bench.query) { _ in [0..<10] }
        let report = try await bench.store.evict(
            to: EvictionBudget(pagesPerQuery: 1), exempt: [], at: noon + .seconds(3_600))
        #expect(report.pages == 1)
        #expect(try await bench.list.coverage.segments == [0..<10])
    }

    @Test(
        "The change count of a query is up to date when the changing call returns, with and without observers",
        arguments: StorageKind.allCases, [true, false])
    func counted(kind: StorageKind, isObserved: Bool) async throws {
        let bench = try await Bench(kind)
        let observation = isObserved ? bench.store.notices(of: bench.query) : nil
        var counts = [try #require(bench.store.changeCount(of: bench.query))]
        #expect(bench.store.changeCount(of: bench.query) == counts[0], "no change has happened")
        try await bench.put(0, items(0..<3))
        counts.append(try #require(bench.store.changeCount(of: bench.query)))
        try await bench.commit([], ledger: [.succeeded(offset: 0)])
        counts.append(try #require(bench.store.changeCount(of: bench.query)))
        try await bench.store.setPinned(true, bench.query)
        counts.append(try #require(bench.store.changeCount(of: bench.query)))
        #expect(Set(counts).count == 4)
        let other = try await bench.store.register(QueryKey("other"), at: noon).id
        #expect(bench.store.changeCount(of: other) != nil)
        #expect(bench.store.changeCount(of: bench.query) == counts[3], "a change of another list does not count")
        _ = try await bench.store.window(of: bench.query, 0..<3)
        #expect(bench.store.changeCount(of: bench.query) == counts[3], "a read does not count")
        _ = try await bench.store.purge([bench.query])
        #expect(bench.store.changeCount(of: bench.query) != counts[3])
        withExtendedLifetime(observation) {}
    }

    @Test("The notice of another process's commit counts as a change, even for unobserved lists (R41)")
    func elsewhere() async throws {
        let here = try await Bench(.sqlite)
        let before = try #require(here.store.changeCount(of: here.query))
        let there = try await SQLitePageStore.openForTest(at: here.folder.store, mode: .createIfMissing)
        try await there.record([.succeeded(offset: 0)], for: here.query, at: noon)
        while here.store.changeCount(of: here.query) == before { await Task.yield() }
        await there.close()
    }

    @Test(
        "A watch reports changes of the queries it observes, from the start of the observation, and they count as observed",
        arguments: StorageKind.allCases)
    func watch(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let second = try await bench.store.register(QueryKey("second"), at: noon).id
        let third = try await bench.store.register(QueryKey("third"), at: noon).id
        let watch = bench.store.watch()
        func tell(_ query: QueryID, _ offset: Int) async throws {
            try await bench.store.record([.succeeded(offset: offset)], for: query, at: noon)
        }
        try await tell(bench.query, 0)
        watch.subscribe(bench.query)
        watch.subscribe(second)
        #expect(bench.store.observedQueries == [bench.query, second])
        try await tell(second, 1)
        try await tell(third, 2)
        try await tell(bench.query, 3)
        watch.unsubscribe(second)
        try await tell(second, 4)
        watch.subscribe(nil)
        try await tell(third, 5)
        try await tell(bench.query, 6)
        #expect(bench.store.observedQueries == [bench.query])
        var told: [[ChangeSet.Change]] = []
        var notices = watch.notices.makeAsyncIterator()
        while told.count < 4, let notice = await notices.next() {
            if case .changed(let set) = notice { told.append(set.changes) }
        }
        #expect(
            told == [[.ledger([1])], [.ledger([3])], [.ledger([5])], [.ledger([6])]], "each change is reported once")
    }

    @Test("A watch that is no longer consumed observes no queries", arguments: StorageKind.allCases)
    func abandoned(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let watch = bench.store.watch()
        watch.subscribe(bench.query)
        let listening = Task { for await _ in watch.notices {} }
        listening.cancel()
        await listening.value
        #expect(bench.store.observedQueries.isEmpty)
        watch.subscribe(bench.query)
        #expect(bench.store.observedQueries.isEmpty)
    }
}
