// usage: FetchOnly URL     asks for every page of a list, four at a time, and throws it away; prints how many items the list has
//
// What a first sync takes of HTTP alone, by the transport that it has: a contender of Scripts/first-sync.
#if HTTP
import Foundation
import HTTPPageSource
import Synchronization

let (url, size) = (CommandLine.arguments[1], 100)
let transport = AsyncHTTPTransport()

@Sendable func page(_ offset: Int) async throws -> [UInt8] {
    try await transport.send(HTTPPageRequest(url: "\(url)?offset=\(offset)&limit=\(size)")).body
}

let first = try JSONSerialization.jsonObject(with: Data(try await page(0))) as? [String: Any]
let total = first?["total"] as? Int ?? 0
let next = Mutex(size)
try await withThrowingTaskGroup(of: Void.self) { group in
    // As many as a run has in flight at a time, unless it is told otherwise.
    for _ in 0..<4 {
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
