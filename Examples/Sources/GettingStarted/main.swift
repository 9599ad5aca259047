// The first hour with the library: a list, its next pages, a restart while the API is offline, encryption, and log-out.
//
//     swift run --package-path Examples GettingStarted
import Crypto
import Foundation
import PagedRepository

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
let api = EventsAPI()
let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }

// snippet: repository
func repository(_ store: SQLitePageStore) -> ListRepository<Event> {
    let codec = SealedCodec(JSONItemCodec<Event>(), secret: secret)
    let source = ItemSource.offsets(pageSize: 20, codec: codec) { offset, size in
        try await api.events(offset, size)
    }
    return ListRepository(storage: store, source: source)
}
// end

// The first start.
var store = try await SQLitePageStore.open(at: "\(folder)/store.sqlite")
var events = repository(store)
var list = events.list(QueryKey("events", scope: "ann"))
try await list.load()
try await list.loadNext()
print("online: \(list.current.items.count) of \(list.current.total.count ?? 0), \(list.current.items[39].title)")
await store.close()

// The next start, with the API offline.
api.goOffline()
store = try await SQLitePageStore.open(at: "\(folder)/store.sqlite")
events = repository(store)
let model = EventsModel(events, account: "ann")
// snippet: lifecycle
let running = Task { await model.list.run() }  // the cached items at once, then a refresh
// end
while model.list.failure == nil { await Task.yield() }
print("offline: \(model.headline)")
model.list.itemAppeared(at: 39)
running.cancel()

// snippet: logout
try await events.forget(scope: "ann")
// end
list = events.list(QueryKey("events", scope: "ann"))
print("logged out: \(list.current.items.count) items, \(try await store.records().count) lists in the store")
await store.close()
try? FileManager.default.removeItem(atPath: folder)
