#if Tool
import HTTPPageSource
import PageModel
import PagedRepository
import Testing

extension OriginTests {
    /// The same servers through the library, as an embedding program uses it: a store, a source and a repository.
    @Suite("Real origins through the library")
    struct RepositoryTests {
        @Test(
            "Every item that curl finds is fetched in order with as many requests, and is found by its id",
            .enabled(if: !RealOrigin.expected.isEmpty), arguments: RealOrigin.expected)
        func everyItem(origin: RealOrigin) async throws {
            try await withStore { store, network in
                let lists = try await Embedding(origin.url, store, network)
                let walked = try await origin.walk()
                let expected = origin.ids(in: walked)
                #expect(expected.count > 300)

                #expect(try await lists.list.loadAll() == .loaded(expected.count))
                let snapshot = lists.list.current
                #expect(try origin.ids(of: snapshot.items) == expected)
                #expect(snapshot.isAtEnd && snapshot.gaps.isEmpty && snapshot.unusable.isEmpty)
                #expect(snapshot.failure == nil && snapshot.displayState == .items)
                #expect(snapshot.end == expected.count)
                switch origin {
                // Kinto returns its total to a HEAD request.
                case .datasette, .ara, .kinto: #expect(snapshot.total == .exact(expected.count))
                case .registry: #expect(snapshot.total == .unknown)
                }
                // Without a total, page one confirms the walk.
                let confirmations = origin == .registry ? 1 : 0
                #expect(lists.source.usage.requests == walked.count + origin.firstContact + confirmations)

                for id in [expected.first, expected.last].compactMap(\.self) {
                    let item = try #require(try await lists.repository.item(id: id, in: lists.key))
                    #expect(try origin.ids(of: [item]) == [id])
                }
                #expect(try await lists.repository.item(id: "nobody", in: lists.key) == nil)
            }
        }

        @Test(
            "Pages are fetched one at a time, by a Link header and by offset (R34, R35)",
            .enabled(if: !RealOrigin.expected(.registry, .ara).isEmpty), arguments: RealOrigin.expected(.registry, .ara)
        )
        func pages(origin: RealOrigin) async throws {
            try await withStore { store, network in
                let lists = try await Embedding(origin.url, store, network)
                let (list, walked) = (lists.list, try await origin.walk())
                #expect(list.current.hasMore && lists.source.usage.requests == 0)
                var held = 0
                while list.current.hasMore {
                    // Without loaded pages the next page is page one.
                    guard case .loaded(let count) = try await list.loadNext(), count > 0 else {
                        Issue.record("the list has more pages, but the next one is not loaded")
                        break
                    }
                    held += count
                    #expect(list.current.items.count == held)
                }
                #expect(try origin.ids(of: list.current.items) == origin.ids(in: walked))
                #expect(list.current.pagesLoaded == walked.count)
                #expect(try await list.loadNext() == .endReached)
                #expect(lists.source.usage.requests == walked.count + origin.firstContact)
            }
        }

        @Test(
            "Every snapshot of the stream is a prefix of the list, and the last one is the whole list (R39)",
            .enabled(if: RealOrigin.registry.isExpected), .timeLimit(.minutes(20)))
        func stream() async throws {
            try await withStore { store, network in
                let list = try await Embedding(RealOrigin.registry.url, store, network).list
                let expected = RealOrigin.registry.ids(in: try await RealOrigin.registry.walk())
                let snapshots = list.snapshots
                let watching = Task {
                    var seen: [[String]] = []
                    for await snapshot in snapshots {
                        seen.append(try RealOrigin.registry.ids(of: snapshot.items))
                        if snapshot.isAtEnd, !snapshot.isLoading { break }
                    }
                    return seen
                }
                defer { watching.cancel() }
                try await list.loadAll()
                let seen = try await watching.value
                #expect(seen.last == expected)
                #expect(seen.allSatisfy { expected.starts(with: $0) })
                #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.count <= $1.count })
            }
        }

        @Test(
            "A page from the middle of a list can be read first, and the positions before it stay a gap (R12)",
            .enabled(if: RealOrigin.ara.isExpected))
        func anywhere() async throws {
            try await withStore { store, network in
                let lists = try await Embedding(RealOrigin.ara.url, store, network)
                let expected = RealOrigin.ara.ids(in: try await RealOrigin.ara.walk())
                try #require(expected.count > 300)
                let middle = try await lists.repository.page(lists.key, offset: 220, limit: 20)
                #expect(try RealOrigin.ara.ids(of: middle.items) == Array(expected[220..<240]))
                #expect(middle.missing.isEmpty && middle.end == expected.count)
                // The two requests are page one, which shows how the server pages, and the requested page.
                #expect(lists.source.usage.requests == 2)

                try await lists.list.load(.cacheOnly)
                #expect(try RealOrigin.ara.ids(of: lists.list.current.items) == Array(expected[..<100]))
                #expect(lists.list.current.gaps.first?.lowerBound == 100)

                // Positions beyond the end are not missing.
                let tail = try await lists.repository.page(lists.key, offset: expected.count - 5, limit: 20)
                #expect(try RealOrigin.ara.ids(of: tail.items) == expected.suffix(5))
                #expect(tail.missing.isEmpty)

                let before = lists.source.usage.requests
                let again = try await lists.repository.page(lists.key, offset: 225, limit: 10, policy: .cacheOnly)
                #expect(try RealOrigin.ara.ids(of: again.items) == Array(expected[225..<235]))
                #expect(lists.source.usage.requests == before)
            }
        }

        @Test(
            "Detected paging is stored, so that a new source continues after the held pages",
            .enabled(if: !RealOrigin.expected(.ara, .kinto).isEmpty), arguments: RealOrigin.expected(.ara, .kinto))
        func goingOn(origin: RealOrigin) async throws {
            try await withStore { store, network in
                try await Embedding(origin.url, store, network).list.load()
                let second = try await Embedding(origin.url, store, network)
                guard case .loaded(1...) = try await second.list.loadNext() else {
                    Issue.record("the next page is not loaded")
                    return
                }
                #expect(second.source.usage.requests == 1)
                let expected = origin.ids(in: try await origin.walk())
                let held = try origin.ids(of: second.list.current.items)
                #expect(held.count > 100 && expected.starts(with: held))
            }
        }
    }
}
#endif
