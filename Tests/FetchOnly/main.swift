// usage: FetchOnly URL     fetches every page of a list, as many at a time as a run does, and discards them; prints
// the number of items
//
// Measures the share of HTTP in a first sync, with the library's transport: a contender of Scripts/first-sync.
#if HTTP
import Foundation
import HTTPPageSource
import PagedRepository
import Synchronization

guard CommandLine.arguments.count == 2 else {
    print("usage: FetchOnly URL")
    exit(64)
}
let (url, size) = (CommandLine.arguments[1], 100)
let transport = AsyncHTTPTransport()

@Sendable func page(_ offset: Int) async throws -> [UInt8] {
    try await transport.send(HTTPPageRequest(url: "\(url)?offset=\(offset)&limit=\(size)")).body
}

let first = try JSONSerialization.jsonObject(with: Data(try await page(0))) as? [String: Any]
let total = first?["total"] as? Int ?? 0
let next = Mutex(size)
try await withThrowingTaskGroup(of: Void.self) { group in
    for _ in 0..<SyncOptions().concurrency {
        group.addTask {
            while true {
                let offset = next.withLock { next in
                    defer { next += size }
                    return next
                }
                guard offset < total else { return }
                _ = try await page(offset)
            }
        }
    }
    try await group.waitForAll()
}
print(total)
await transport.close()
#endif
