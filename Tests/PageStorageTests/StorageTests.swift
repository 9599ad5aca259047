import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

/// Behaviour of every storage besides commits: registration, due pages, pins, budgets, notices, and refusal of
/// impossible values.
@Suite("A storage")
struct StorageTests {
    @Test(
        "Keys are equal when their bytes are equal, and not when they only look alike", arguments: StorageKind.allCases)
    func identity(kind: StorageKind) async throws {
        // The bench keeps the folder of the store.
        let bench = try await Bench(kind)
        defer { withExtendedLifetime(bench) {} }
        let store = bench.store
        let texts = ["caf\u{e9}", "cafe\u{301}", "a", "a\0", "A"]
        let ids = try await texts.asyncMap { try await store.register(QueryKey($0), at: noon).id }
        #expect(Set(ids).count == texts.count)
        #expect(try await texts.asyncMap { try await store.register(QueryKey($0), at: noon).id } == ids)
        #expect(try await store.register(QueryKey("a", scope: "tenant"), at: noon).id != ids[2])
        #expect(try await store.summaries().count == texts.count + 2)
    }

    @Test("An item of 50 MB and a page of 10,000 items are read back exactly", arguments: StorageKind.allCases)
    func large(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let huge = RawItem(payload: Array(repeating: 0xfe, count: 50_000_000), id: "huge")
        try await bench.put(0, PageContent([huge]))
        try await bench.put(1, items(0..<10_000))
        let window = try #require(try await bench.store.window(of: bench.query, 0..<1))
        #expect(window.parts.first?.content.payload(at: 0).count == 50_000_000)
        #expect(window.parts.first?.content.items == [huge])
        #expect(try await bench.held.count == 10_001)
    }

    @Test(
        "An impossible plan throws an error and changes nothing", arguments: StorageKind.allCases
    )
    func nonsense(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<5))
        let before = try await bench.list
        let impossible: [[ListEdit]] = [
            [.insertPage(PageWrite(offset: -1, content: items(["x"]), evidence: .inferred))],
            [.insertPage(PageWrite(offset: .max, content: items(["x"]), evidence: .inferred))],
            [.insertPage(PageWrite(offset: ListTotal.largest, content: items(["x"]), evidence: .inferred))],
            [.splice(-5..<0, nil)], [.splice(0..<Int.max, nil)],
            [.splice(3..<4, PageWrite(offset: 9, content: items(["x"]), evidence: .inferred))],
            [.truncate(at: -1)], [.truncate(at: .max)], [.setEnd(-1)], [.setEnd(.max)],
            [.setTotal(.exact(-1))], [.setTotal(.estimate(.max))],
            [.setSweep(SweepProgress(position: -1, startedAt: noon))],
            [.insertPage(PageWrite(offset: 5, content: items(["x"]), evidence: .inferred)), .setEnd(-7)],
        ]
        for edits in impossible {
            await #expect(throws: StorageError.self, "\(edits)") { try await bench.commit(edits) }
        }
        for offset in [-1, Int.max, Int.min] {
            await #expect(throws: StorageError.self) {
                try await bench.commit([], ledger: [.succeeded(offset: offset)])
            }
            await #expect(throws: StorageError.self) {
                try await bench.store.claim([offset], of: bench.query, until: noon + .seconds(1), at: noon)
            }
        }
        #expect(try await bench.list == before)
        // A read of positions that cannot exist returns no items.
        #expect(try await bench.store.window(of: bench.query, Int.max - 5..<Int.max)?.parts == [])
        #expect(try await bench.store.window(of: QueryID(rawValue: -9), 0..<5) == nil)
    }

    @Test("Due pages of all lists are returned soonest first, up to the limit", arguments: StorageKind.allCases)
    func due(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let other = try await bench.store.register(QueryKey("other"), at: noon).id
        func fail(_ query: QueryID, _ offset: Int, _ seconds: Int?) async throws {
            try await bench.store.record(
                [.failed(offset: offset, failure: .status(503), nextAttemptIn: seconds.map { .seconds($0) })],
                for: query, at: noon)
        }
        try await fail(bench.query, 0, 30)
        try await fail(other, 7, 10)
        try await fail(bench.query, 50, 20)
        try await fail(bench.query, 100, nil)
        try await fail(other, 9, 40)
        #expect(try await bench.store.due(before: noon + .seconds(30), limit: 9).map(\.entry.offset) == [7, 50, 0])
        #expect(try await bench.store.due(before: noon + .seconds(30), limit: 2).map(\.query) == [other, bench.query])
        #expect(try await bench.store.due(before: noon, limit: 9) == [])
        for none in [0, -1, .min] {
            #expect(try await bench.store.due(before: noon + .seconds(30), limit: none) == [], "the limit \(none)")
        }
        // A page in flight is not due, and a stored page is not due either.
        _ = try await bench.store.claim([50], of: bench.query, until: noon + .seconds(60), at: noon)
        try await bench.commit([], ledger: [.succeeded(offset: 0)])
        #expect(try await bench.store.due(before: noon + .seconds(30), limit: 9).map(\.entry.offset) == [7])
    }

    @Test(
        "A budget evicts the least recently used pages, leaves gaps in place, and spares pinned or observed lists",
        arguments: StorageKind.allCases)
    func eviction(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        for page in 0..<5 {
            try await bench.put(page * 10, items(page * 10..<page * 10 + 10), at: noon + .seconds(page))
        }
        try await bench.commit([.setTotal(.exact(50)), .setEnd(50)])
        let pinned = try await bench.store.register(QueryKey("pinned"), at: noon).id
        let watched = try await bench.store.register(QueryKey("watched"), at: noon).id
        for (query, name) in [(pinned, "p"), (watched, "w")] {
            let plan = CommitPlan(
                query: query, version: ListVersion(generation: 1, revision: 0),
                edits: [.insertPage(PageWrite(offset: 0, content: items([name]), evidence: .inferred))])
            _ = try await bench.store.commit(plan)
        }
        try await bench.store.setPinned(true, pinned)
        #expect(try await bench.store.query(QueryKey("pinned"))?.isPinned == true)
        let observation = bench.store.notices(of: watched)
        // Reading the oldest page makes the next two pages the oldest.
        _ = try await bench.store.window(of: bench.query, 0..<1)
        let report = try await bench.store.evict(
            to: EvictionBudget(pagesPerQuery: 3), exempt: [], at: noon + .seconds(3_600))
        #expect(report.pages == 2)
        #expect(report.queries == 1)
        let list = try await bench.list
        #expect(list.gaps == [10..<30])
        #expect(list.record.end == 50)
        #expect(try await bench.held[35] == "i35")
        let all = try await bench.store.evict(to: EvictionBudget(bytes: 0), exempt: [], at: noon + .seconds(3_601))
        #expect(all.pages == 3)
        #expect(all.bytesLeft == (try await bench.store.summaries().reduce(0) { $0 + $1.bytes }))
        #expect(try await bench.store.window(of: pinned, 0..<1)?.parts.count == 1)
        #expect(try await bench.store.window(of: watched, 0..<1)?.parts.count == 1)
        withExtendedLifetime(observation) {}
        try await bench.store.setPinned(false, pinned)
        #expect(try await bench.store.evict(to: EvictionBudget(bytes: 0), exempt: [watched], at: noon).pages == 1)
    }

    @Test("The age of a page counts from its last use", arguments: StorageKind.allCases)
    func age(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<10))
        try await bench.put(10, items(10..<20), at: noon + .seconds(100))
        let budget = EvictionBudget(age: .seconds(60))
        #expect(try await bench.store.evict(to: budget, exempt: [], at: noon + .seconds(120)).pages == 1)
        #expect(try await bench.list.coverage.segments == [10..<20])
    }

    @Test(
        "Observers of one list or of all receive the changes of each commit in order", arguments: StorageKind.allCases)
    func notices(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let other = try await bench.store.register(QueryKey("other"), at: noon).id
        var own = bench.store.notices(of: bench.query).makeAsyncIterator()
        var all = bench.store.notices(of: nil).makeAsyncIterator()
        try await bench.store.record([.succeeded(offset: 3)], for: other, at: noon)
        try await bench.put(0, items(0..<5))
        try await bench.commit(
            [.splice(0..<2, PageWrite(offset: 0, content: items(["x"]), evidence: .inferred)), .setTotal(.exact(4))],
            ledger: [.succeeded(offset: 0), .succeeded(offset: 3)])
        try await bench.commit([.touchPage(offset: 0, validator: nil), .validated, .setTotal(.exact(4))])
        _ = try await bench.store.purge([bench.query])

        var difference = ListDifference()
        difference.removed = [0..<2]
        difference.inserted = [0..<1]
        let first = ListVersion(generation: 1, revision: 0)
        let second = ListVersion(generation: 1, revision: 1)
        let sets = [
            ChangeSet(query: bench.query, version: first, changes: [.stored(0..<5)]),
            ChangeSet(
                query: bench.query, version: second,
                changes: [.rearranged(difference), .total(.exact(4)), .ledger([0, 3])]),
            ChangeSet(query: bench.query, version: second, changes: [.confirmed(0..<4), .validated]),
            ChangeSet(query: bench.query, version: nil, changes: [.purged]),
        ]
        #expect(
            await all.next()?.withoutContent
                == .changed(ChangeSet(query: other, version: first, changes: [.ledger([3])])))
        for set in sets {
            #expect(await own.next()?.withoutContent == .changed(set))
            #expect(await all.next()?.withoutContent == .changed(set))
        }
        #expect(sets.map(\.changesItems) == [true, true, false, true], "a confirmation changes no item (R6)")
    }

    @Test(
        "Refused plans notify no observer, and an observer that falls behind receives a merged notice to read again",
        arguments: StorageKind.allCases)
    func slowObserver(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        var slow = bench.store.notices(of: bench.query).makeAsyncIterator()
        for number in 0..<1_000 {
            try await bench.store.record([.succeeded(offset: number)], for: bench.query, at: noon)
            if number % 100 == 0 { #expect(try await bench.put(-0, items(["a", "a"])) == .duplicates([0..<2])) }
        }
        var heard = 0
        var isToldToLook = false
        try await bench.commit([.setEnd(5)])
        while let notice = await slow.next() {
            heard += 1
            if case .invalidated(let queries) = notice {
                isToldToLook = true
                #expect(queries == [bench.query])
            }
            if case .changed(let set) = notice, set.changes == [.end(5)] { break }
            // The last change was merged into the notice to read again.
            if isToldToLook, heard > 900 { break }
        }
        #expect(isToldToLook)
        #expect(heard < 600)
    }

    @Test(
        "An old page stays when a new page holds an item of an earlier page at its place (B1)",
        arguments: StorageKind.allCases)
    func staleIndex(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(["a", "b"]))
        try await bench.commit([.startGeneration])
        try await bench.put(0, items(["x", "y"]))
        try await bench.commit([.startGeneration])
        try await bench.put(100, items(["a"]))
        #expect(try await bench.list.pages.map(\.range) == [0..<2, 100..<101])
    }

    @Test("A page whose previous page is replaced has an inferred seam before it (G1)", arguments: StorageKind.allCases)
    func newNeighbour(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<2))
        try await bench.commit([.insertPage(PageWrite(offset: 2, content: items(2..<4), evidence: .verified))])
        #expect(try await bench.list.inferredSeams == 0)
        try await bench.commit([
            .markStale(0..<2), .insertPage(PageWrite(offset: 0, content: items(["p", "q"]), evidence: .verified)),
        ])
        #expect(try await bench.list.inferredSeams == 1)
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}

extension StorageNotice {
    /// Returns the notice without the content version, whose stamp is random.
    var withoutContent: StorageNotice {
        guard case .changed(var set) = self else { return self }
        set.contentVersion = nil
        return .changed(set)
    }
}
