// Loads 95 numbers from a slow origin, and then the same numbers from the store alone.
//
//     swift run --package-path Examples Embed [STORE]
import Foundation
import PagedRepository

struct Number: Codable, Identifiable, Sendable { var id: Int }

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("embed-\(UUID().uuidString)").path
let path = CommandLine.arguments.dropFirst().first ?? "\(folder)/store.sqlite"
let store = try await SQLitePageStore.open(at: path, mode: .createIfMissing)

let slow = ItemSource.offsets(pageSize: 20) { offset, size in
    try await Task.sleep(for: .milliseconds(50))
    return ItemPage(items: (offset..<max(offset, min(offset + size, 95))).map(Number.init), total: 95)
}
let numbers = ListRepository(storage: store, source: slow).list(QueryKey("numbers"))
try await numbers.load()
print("loaded: \(numbers.current.items.count) of \(numbers.current.total.count ?? 0)")
try await numbers.loadAll()
print("all pages: \(numbers.current.items.count), the last is \(numbers.current.items.last?.id ?? 0)")

// A second repository on the same store, as after a restart. The origin of this repository is offline.
let offline = ItemSource.offsets(pageSize: 20) { _, _ -> [Number] in
    throw FetchFailure(.transport, "nobody answers", isRetryable: true)
}
let again = ListRepository(storage: store, source: offline).list(QueryKey("numbers"))
try await again.load(.originFirst)
print("origin offline: \(again.current.items.count), the last is \(again.current.items.last?.id ?? 0)")

await store.close()
try? FileManager.default.removeItem(atPath: folder)
