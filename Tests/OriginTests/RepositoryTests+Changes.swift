#if Tool
import Foundation
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository
import Testing

// A list whose server is gone, has changed, or is fetched in the background.
extension OriginTests.RepositoryTests {
    @Test(
        "A list whose server is gone is served completely, and the failure is reported (R10, R14, R37)",
        .enabled(if: !RealOrigin.expected(.registry, .ara).isEmpty), .timeLimit(.minutes(20)),
        arguments: RealOrigin.expected(.registry, .ara))
    func offline(origin: RealOrigin) async throws {
        try await withStore { store, network in
            let first = try await Embedding(origin.url, store, network)
            try await first.list.loadAll()
            let expected = try origin.ids(of: first.list.current.items)
            try #require(expected.count > 300)
            #expect(expected == origin.ids(in: try await origin.walk()))

            let second = try await Embedding(origin.url, store, GoneServer(network: network))
            let list = second.list
            #expect(try await list.load(.cacheOnly) == .endReached)
            #expect(try origin.ids(of: list.current.items) == expected)
            #expect(list.current.failure == nil)
            let window = try await second.repository.page(second.key, offset: 150, limit: 30, policy: .cacheOnly)
            #expect(try origin.ids(of: window.items) == Array(expected[150..<180]))
            #expect(try await second.repository.item(id: expected[200], in: second.key) != nil)
            #expect(try await list.loadNext() == .endReached)
            #expect(second.source.usage.requests == 0)

            let failure = await #expect(throws: ListFailure.self) { try await list.load() }
            #expect(failure?.kind == .refresh && failure?.failure.isTransport == true)
            #expect(second.source.usage.requests > 0)
            let snapshot = list.current
            #expect(snapshot.failure == failure)
            #expect(snapshot.displayState == failure.map { .refreshFailed($0) })
            #expect(try origin.ids(of: snapshot.items) == expected)
            #expect(snapshot.isAtEnd && snapshot.gaps.isEmpty)
            // The cache is used instead.
            #expect(try await list.load(.originFirst) == .cached)

            // A third observer receives the whole list before its first request.
            let third = try await Embedding(origin.url, store, GoneServer(network: network))
            for await snapshot in third.list.snapshots where snapshot.isLoaded {
                #expect(try origin.ids(of: snapshot.items) == expected)
                break
            }
            #expect(third.source.usage.requests == 0)
        }
    }

    @Test(
        "One refresh with one request finds insertions and deletions in page one (R17)",
        .enabled(if: RealOrigin.datasette.isExpected))
    func refresh() async throws {
        try await withStore { store, network in
            let origin = RealOrigin.datasette
            // Part of the packages is enough for a quick test: three pages.
            let url = try origin.url + "&id__lte=1200"
            let lists = try await Embedding(url, store, network)
            try await lists.list.loadAll()
            let before = try origin.ids(of: lists.list.current.items)
            #expect(before == origin.ids(in: try await origin.walk(from: url)))
            try #require(before.count > 500)

            try await RealOrigin.editPackages(
                """
                INSERT INTO packages (id, package) SELECT min(id) - 1, 'aaa-new' FROM packages; \
                DELETE FROM packages WHERE id = \(before[17]);
                """)
            let requests = lists.source.usage.requests
            try await lists.list.refresh()
            #expect(lists.source.usage.requests == requests + 1)
            let after = try origin.ids(of: lists.list.current.items)
            #expect(Array(after.dropFirst()) == before.filter { $0 != before[17] })
            #expect(after == origin.ids(in: try await origin.walk(from: url)))
            #expect(lists.list.current.isAtEnd && lists.list.current.failure == nil)
        }
    }

    @Test(
        "A refresh finds an insertion and a deletion by the total, and a sweep finds deletions and notifies observers (R22, R23)",
        .enabled(if: RealOrigin.kinto.isExpected), .timeLimit(.minutes(20)))
    func sweep() async throws {
        try await withStore { store, network in
            let origin = RealOrigin.kinto
            let lists = try await Embedding(origin.url, store, network)
            let list = lists.list
            try await list.loadAll()
            let before = try origin.ids(of: list.current.items)
            try #require(before.count > 300)
            let (added, removed) = ("record-\(UUID().uuidString)", before[250])
            try await RealOrigin.addRecord(added)
            try await RealOrigin.removeRecord(removed)
            try await list.refresh()
            // The total is the same as before, and page one has a new item.
            #expect(try origin.ids(of: list.current.items) == [added] + before.filter { $0 != removed })

            try await RealOrigin.removeRecord(before[200])
            let expected = origin.ids(in: try await origin.walk())
            #expect(expected == [added] + before.filter { ![removed, before[200]].contains($0) })
            let snapshots = list.snapshots
            var options = SyncOptions()
            options.work = .sweep
            options.storesDespiteNoStore = true
            let report = try await ListSync(storage: store, source: lists.source, key: lists.key, options: options)
                .run()
            #expect(report.outcome == .complete && report.reconciliation == .swept)
            var seen: [String] = []
            for await snapshot in snapshots {
                seen = try origin.ids(of: snapshot.items)
                if seen == expected { break }
            }
            #expect(seen == expected)
        }
    }

    @Test(
        "A pinned list is fetched completely in the background",
        .enabled(if: RealOrigin.kinto.isExpected), .timeLimit(.minutes(20)))
    func pinned() async throws {
        try await withStore { store, network in
            let lists = try await Embedding(RealOrigin.kinto.url, store, network)
            let record = try await store.register(lists.key)
            try await store.setPinned(true, record.id)
            let notices = store.notices(of: record.id)
            var options = EngineOptions()
            options.sync.storesDespiteNoStore = true
            options.spread = .zero
            let engine = SyncEngine(storage: store, options: options) { record in
                record.key == lists.key ? SyncEngine.Origin("kinto", lists.source) : nil
            }
            let running = Task { try await engine.run() }
            for await _ in notices where try await store.outline(of: record.id)?.isComplete == true { break }
            running.cancel()
            try await running.value

            try await lists.list.load(.cacheOnly)
            let walked = try await RealOrigin.kinto.walk()
            #expect(try RealOrigin.kinto.ids(of: lists.list.current.items) == RealOrigin.kinto.ids(in: walked))
            #expect(lists.list.current.isAtEnd)
            #expect(lists.source.usage.requests == walked.count + RealOrigin.kinto.firstContact)
        }
    }
}
#endif
