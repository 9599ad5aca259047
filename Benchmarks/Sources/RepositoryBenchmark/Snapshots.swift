import Measuring
import PageModel
import PageStore
import PagedRepository

/// Pages that are in memory, decoded, against raw reads of the same pages.
enum Snapshots {
    /// As many lists as a busy program shows at a time.
    private static let hot = 50

    static func run(rounds: Int) async throws {
        try await StoredLists<Product>.with(lists: 1_000) { stored in try await run(stored, rounds) }
    }

    private static func run(_ stored: StoredLists<Product>, _ rounds: Int) async throws {
        let repository = stored.repository()
        let lists = (0..<hot).map { stored.list($0, of: repository) }
        let (store, direct) = (stored.store, stored.store.synchronously)
        let page = 0..<Product.countPerPage
        for list in lists {
            try await list.load(.cacheOnly)
            try expect(list.current.items.count == page.count, "a list that is known to the store")
        }
        var (raw, rawAsync, key, outline, outlineAsync) = (Samples(), Samples(), Samples(), Samples(), Samples())
        var (current, load, watched, window, item) = (Samples(), Samples(), Samples(), Samples(), Samples())
        // As many lists again with listeners: notices report the changes of others, so no read is needed.
        let shown = (hot..<2 * hot).map { stored.list($0, of: repository) }
        let listeners = shown.map { $0.snapshots }
        for (list, listener) in zip(shown, listeners) {
            try await list.load(.cacheOnly)
            // Its first snapshot means that it follows what is told.
            for await snapshot in listener where snapshot.items.count == page.count { break }
        }
        var seen = 0
        for _ in 0..<rounds {
            // Everybody at another list each time, and one after the other: what the machine does meanwhile happens to
            // all.
            let places = (0..<8).map { _ in Int.random(in: 0..<hot) }
            let queries = places.map { stored.queries[$0] }
            try raw.timeAtOnce { seen += try direct.window(of: queries[0], page)?.parts.first?.content.count ?? 0 }
            try await rawAsync.time {
                seen += try await store.window(of: queries[1], page)?.parts.first?.content.count ?? 0
            }
            try await key.time {
                seen += try await store.query(StoredLists<Product>.key(places[2])) == nil ? 0 : page.count
            }
            try outline.timeAtOnce { seen += try direct.outline(of: queries[3])?.length ?? 0 }
            try await outlineAsync.time { seen += try await store.outline(of: queries[4])?.length ?? 0 }
            let list = lists[places[5]]
            var read = 0
            current.timeAtOnce(calls: 100) { read += list.current.items.count }
            seen += read / 100
            let loaded = lists[places[6]]
            try await load.time { try await loaded.load(.cacheOnly) }
            seen += loaded.current.items.count
            let followed = shown[places[5]]
            try await watched.time { try await followed.load(.cacheOnly) }
            seen += followed.current.items.count
            let queried = StoredLists<Product>.key(places[7])
            try await window.time {
                seen += try await repository.page(queried, offset: 0, limit: page.count, policy: .cacheOnly).items.count
            }
            let id = "product-\(100_000 + Int.random(in: page))"
            try await item.time { seen += try await repository.item(id: id, in: queried)?.id == id ? page.count : 0 }
        }
        var alone = Samples()
        for _ in 0..<rounds {
            let queried = StoredLists<Product>.key(Int.random(in: 0..<hot))
            try await alone.time {
                seen += try await repository.page(queried, offset: 0, limit: page.count, policy: .cacheOnly).items.count
            }
        }
        withExtendedLifetime(listeners) {}
        try expect(seen == rounds * 11 * page.count, "the whole page each time")

        Figure.title(
            "50 items × 500 B, in memory, µs. limit: store.window on the caller's own thread; other: the same, async")
        Figure("store.window, own thread", raw, limit: raw, other: rawAsync).print()
        Figure("store.window, async", rawAsync, limit: raw, other: rawAsync).print()
        Figure("  store.query(key), async", key, limit: raw, other: rawAsync).print()
        Figure("  store.outline, own thread", outline, limit: raw, other: rawAsync).print()
        Figure("  store.outline, async", outlineAsync, limit: raw, other: rawAsync).print()
        Figure("list.current", current, limit: raw, other: rawAsync, target: .atMost(3)).print()
        Figure(
            "list.load(.cacheOnly), followed by a listener", watched, limit: raw, other: rawAsync, target: .atMost(3)
        ).print()
        Figure("list.load(.cacheOnly), without a listener", load, limit: raw, other: rawAsync).print()
        Figure("repository.page(0, 50, .cacheOnly)", window, limit: raw, other: rawAsync, target: .atMost(3)).print()
        Figure("  without other work in between", alone, limit: raw, other: rawAsync).print()
        Figure("repository.item(id:)", item, limit: raw, other: rawAsync).print()
    }
}
