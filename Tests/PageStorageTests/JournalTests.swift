import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

/// The changes that the journal records for a commit, and the entries that it returns (R48).
@Suite("The journal of a list")
struct JournalTests {
    private func item(_ name: String, _ text: String = "") -> RawItem {
        RawItem(payload: Array("{\(name)\(text)}".utf8), id: name)
    }

    private func page(_ offset: Int, _ items: [RawItem]) -> PageWrite {
        PageWrite(offset: offset, content: PageContent(items), evidence: .inferred)
    }

    /// Returns a list of twenty items, which is long enough not to be joined with the next page (R17).
    private func bench(_ kind: StorageKind, _ bound: JournalBound = JournalBound()) async throws -> Bench<
        any PageStorage
    > {
        let bench = try await Bench(kind, journal: bound)
        try await bench.commit([.insertPage(page(0, (0..<20).map { item("i\($0)") }))])
        return bench
    }

    /// Commits the edits, and returns the changes that the journal recorded.
    private func last(_ bench: Bench<any PageStorage>, _ edits: [ListEdit], at moment: Timestamp = noon) async throws
        -> [JournalChange]
    {
        let before = try await bench.list.contentVersion
        try await bench.commit(edits, at: moment)
        guard
            case .entries(let entries, let reached, false) = try await bench.store.changes(
                of: bench.query, since: before, limit: 9)
        else { return [] }
        #expect(entries.map(\.at) == [moment])
        #expect(reached == (try await bench.list.contentVersion))
        return entries.flatMap(\.changes)
    }

    @Test("A first load is one range per commit, however many pages it stores", arguments: StorageKind.allCases)
    func loaded(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let pages = (1..<4).map { number in
            ListEdit.insertPage(page(number * 20, (0..<20).map { item("i\(number * 20 + $0)") }))
        }
        #expect(try await last(bench, pages) == [.loaded(20..<80)])
        #expect(try await last(bench, [.markContiguous(0..<80), .validated]) == [])
    }

    @Test("An insertion records the new ids and not the items that shift after them", arguments: StorageKind.allCases)
    func inserted(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let expected = JournalRearrangement(
            added: [0..<2], inserted: [.init(position: 0, id: "a"), .init(position: 1, id: "b")])
        #expect(try await last(bench, [.splice(0..<0, page(0, [item("a"), item("b")]))]) == [.rearranged(expected)])
    }

    @Test("A deletion records the bytes of the deleted items", arguments: StorageKind.allCases)
    func deleted(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let expected = JournalRearrangement(removed: [3..<4], deleted: [.init(position: 3, item: item("i3"))])
        #expect(try await last(bench, [.splice(3..<4, nil)]) == [.rearranged(expected)])
        let cut = JournalRearrangement(
            removed: [17..<Int.max],
            deleted: [.init(position: 17, item: item("i18")), .init(position: 18, item: item("i19"))])
        #expect(try await last(bench, [.truncate(at: 17)]) == [.rearranged(cut)])
    }

    @Test("A truncation behind the held items changes no item", arguments: StorageKind.allCases)
    func truncatedBehind(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        var notices = bench.store.notices(of: bench.query).makeAsyncIterator()
        #expect(try await last(bench, [.truncate(at: 20), .setEnd(20)]) == [])
        guard case .changed(let set) = await notices.next() else {
            Issue.record("the commit notified no observer of its changes")
            return
        }
        #expect(set.changes == [.end(20)])
        #expect(!ChangeSet.Change.rearranged(ListDifference()).changesItems)
    }

    @Test("An edit in place records the previous bytes and no move", arguments: StorageKind.allCases)
    func edited(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let expected = JournalRearrangement(edited: [.init(from: 1, to: 1, before: item("i1"))])
        let page = page(0, [item("i0"), item("i1", "!"), item("i2")])
        #expect(try await last(bench, [.splice(0..<3, page)]) == [.rearranged(expected)])
    }

    @Test(
        "A move records both positions, and only one of two swapped neighbours counts as moved",
        arguments: StorageKind.allCases)
    func moved(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let head = page(0, [item("i19"), item("i0")])
        let expected = JournalRearrangement(
            removed: [19..<20], added: [0..<1], moved: [.init(from: 19, to: 0, id: "i19")])
        let rearrangement = Rearrangement([.written(head, from: [19, 0]), .kept(1..<19), .kept(20..<Int.max)])
        #expect(try await last(bench, [.rearrange(rearrangement)]) == [.rearranged(expected)])
        guard
            case .rearranged(let swap)? = try await last(bench, [.splice(0..<2, page(0, [item("i0"), item("i19")]))])
                .first
        else { return #expect(Bool(false), "the journal has no entry") }
        #expect(swap.moved.count == 1 && swap.deleted.isEmpty && swap.inserted.isEmpty)
    }

    @Test("An item that moved and changed is recorded as an edit with two positions", arguments: StorageKind.allCases)
    func movedAndEdited(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let rearrangement = Rearrangement([
            .written(page(0, [item("i19", "!")]), from: [19]), .kept(0..<19), .kept(20..<Int.max),
        ])
        let expected = JournalRearrangement(
            removed: [19..<20], added: [0..<1], edited: [.init(from: 19, to: 0, before: item("i19"))])
        #expect(try await last(bench, [.rearrange(rearrangement)]) == [.rearranged(expected)])
    }

    @Test("Rewriting a page unchanged records no change", arguments: StorageKind.allCases)
    func rewritten(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        #expect(
            try await last(bench, [.rearrange(.replacing(0..<3, with: page(0, (0..<3).map { item("i\($0)") })))]) == [])
    }

    @Test(
        "Observers of a page in the place of two are notified of its changed items, or of a confirmation (R6)",
        arguments: StorageKind.allCases)
    func storedAgain(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        try await bench.commit([.insertPage(page(20, (20..<40).map { item("i\($0)") }))])
        var notices = bench.store.notices(of: bench.query).makeAsyncIterator()
        var difference = ListDifference()
        difference.rewritten = [.init(from: 30, to: 30)]
        let same = page(0, (0..<40).map { item("i\($0)") })
        let edited = page(0, (0..<40).map { item("i\($0)", $0 == 30 ? "!" : "") })
        // A replacement names the old position of each item, and a splice names none.
        let steps: [(ListEdit, ChangeSet.Change)] = [
            (.splice(0..<40, same), .confirmed(0..<40)), (.splice(0..<40, edited), .rearranged(difference)),
            (.rearrange(.replacing(0..<40, with: edited)), .confirmed(0..<40)),
            (.rearrange(.replacing(0..<40, with: same)), .rearranged(difference)),
        ]
        for (edit, change) in steps {
            try await bench.commit([edit])
            guard case .changed(let set)? = await notices.next() else {
                Issue.record("no change was reported")
                return
            }
            #expect(set.changes == [change])
        }
    }

    @Test(
        "Items that are marked as stale, evicted or of an earlier generation are recorded as dropped and not as deleted",
        arguments: StorageKind.allCases)
    func dropped(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        #expect(try await last(bench, [.markStale(18..<20)]) == [.dropped(18..<20)])
        let before = try await bench.list.contentVersion
        _ = try await bench.store.evict(to: EvictionBudget(bytes: 0), exempt: [], at: noon)
        guard
            case .entries(let entries, _, false)? = try await bench.store.changes(
                of: bench.query, since: before, limit: 9)
        else { return #expect(Bool(false), "the journal has no entry") }
        #expect(entries.flatMap(\.changes).contains(.dropped(0..<18)))
        #expect(try await last(bench, [.startGeneration]) == [.generationBegan])
    }

    // MARK: Reading

    @Test(
        "A read since the current version returns no entries, and a read of a missing query returns nil",
        arguments: StorageKind.allCases)
    func current(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let version = try await bench.list.contentVersion
        #expect(
            try await bench.store.changes(of: bench.query, since: version, limit: 9)
                == .entries([], reached: version, hasMore: false))
        _ = try await bench.store.purge([bench.query])
        #expect(try await bench.store.changes(of: bench.query, since: version, limit: 9) == nil)
    }

    @Test("A limit returns the oldest entries, and the version to continue from", arguments: StorageKind.allCases)
    func paged(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let first = try await bench.list.contentVersion
        for _ in 0..<5 { try await bench.commit([.splice(0..<1, nil)]) }
        var (version, counts) = (first, [Int]())
        while case .entries(let entries, let reached, let hasMore)? = try await bench.store.changes(
            of: bench.query, since: version, limit: 2)
        {
            counts.append(entries.count)
            #expect(entries.map(\.version.counter) == Array(version.counter + 1..<version.counter + 1 + entries.count))
            version = reached
            guard hasMore else { break }
        }
        #expect(counts == [2, 2, 1])
        #expect(version == (try await bench.list.contentVersion))
        #expect(
            try await bench.store.changes(of: bench.query, since: first, limit: 0)
                == .entries([], reached: first, hasMore: true))
    }

    @Test(
        "A read since a counter with a different stamp, or since a future counter, is truncated (R51)",
        arguments: StorageKind.allCases)
    func anotherStamp(kind: StorageKind) async throws {
        let bench = try await bench(kind)
        let version = try await bench.list.contentVersion
        try await bench.commit([.splice(0..<1, nil)])
        let now = try await bench.list.contentVersion
        for unknown in [
            ContentVersion(counter: version.counter, stamp: version.stamp ^ 1),
            ContentVersion(counter: now.counter, stamp: now.stamp ^ 1),
            ContentVersion(counter: now.counter + 1, stamp: now.stamp), .none,
        ] {
            #expect(
                try await bench.store.changes(of: bench.query, since: unknown, limit: 9) == .truncated(current: now),
                "\(unknown)")
        }
    }

    // MARK: Retention

    @Test(
        "The journal keeps ten minutes whatever its bound is, and older readers start again after the oldest entries are removed",
        arguments: StorageKind.allCases)
    func bound(kind: StorageKind) async throws {
        let bench = try await bench(kind, JournalBound(bytes: 400))
        let first = try await bench.list.contentVersion
        // Each commit, one per second, replaces an item.
        for second in 1...20 {
            try await bench.commit([.splice(0..<1, page(0, [item("n\(second)")]))], at: noon + .seconds(Int64(second)))
        }
        guard
            case .entries(let all, _, false)? = try await bench.store.changes(of: bench.query, since: first, limit: 99)
        else { return #expect(Bool(false), "the last ten minutes are kept") }
        #expect(all.count == 20)
        let current = try await bench.list.contentVersion
        // This commit comes ten minutes after the fifth. Versions that were superseded by then may be removed.
        try await bench.commit([.splice(0..<1, nil)], at: noon + .seconds(605))
        let last = try await bench.list.contentVersion
        #expect(
            try await bench.store.changes(of: bench.query, since: all[3].version, limit: 99)
                == .truncated(current: last))
        guard
            case .entries(let young, _, false)? = try await bench.store.changes(
                of: bench.query, since: all[4].version, limit: 99)
        else { return #expect(Bool(false), "this was the list's version within the last ten minutes") }
        #expect(young.count == 16)
        // An hour later only the bound counts. The version before the newest stays, so that a reader of it can
        // continue.
        try await bench.commit([.splice(0..<1, nil)], at: noon + .seconds(4_000))
        #expect(
            try await bench.store.changes(of: bench.query, since: current, limit: 99)
                == .truncated(current: try await bench.list.contentVersion))
        guard
            case .entries(let newest, _, false)? = try await bench.store.changes(
                of: bench.query, since: last, limit: 99)
        else { return #expect(Bool(false), "the version before the newest is kept") }
        #expect(newest.count == 1)
    }

    @Test(
        "Entries from a clock that was later set back are removed like old ones (R29)", arguments: StorageKind.allCases)
    func clockSetBack(kind: StorageKind) async throws {
        let bench = try await bench(kind, JournalBound(bytes: 400))
        let first = try await bench.list.contentVersion
        for _ in 0..<9 { try await bench.commit([.splice(0..<1, nil)], at: noon + .seconds(90_000)) }
        try await bench.commit([.splice(0..<1, nil)], at: noon)
        #expect(
            try await bench.store.changes(of: bench.query, since: first, limit: 99)
                == .truncated(current: try await bench.list.contentVersion))
    }

    @Test(
        "A commit that deletes more than the bound is not recorded item by item, so readers start again",
        arguments: StorageKind.allCases)
    func tooLarge(kind: StorageKind) async throws {
        let bench = try await bench(kind, JournalBound(bytes: 400))
        let before = try await bench.list.contentVersion
        try await bench.commit([.truncate(at: 0)])
        let after = try await bench.list.contentVersion
        #expect(after.counter == before.counter + 1)
        #expect(try await bench.store.changes(of: bench.query, since: before, limit: 9) == .truncated(current: after))
        #expect(
            try await bench.store.changes(of: bench.query, since: after, limit: 9)
                == .entries([], reached: after, hasMore: false))
    }
}
