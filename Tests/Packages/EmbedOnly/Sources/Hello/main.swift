import PagedRepository

struct Event: Codable, Identifiable, Sendable { var id: Int }

let source = ItemSource.offsets(pageSize: 20) { offset, size in
    ItemPage(items: (offset..<max(offset, min(offset + size, 48))).map(Event.init), total: 48)  // your API
}
let store = try await SQLitePageStore.inMemory()  // or open(at: "cache/store.sqlite")
let list = ListRepository(storage: store, source: source).list("events")
try await list.load()
try await list.loadNext()
print(list.current.items.count, list.current.hasMore)
await store.close()
