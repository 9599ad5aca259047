// One of several processes on one store: what it does is its first argument, and what it saw it prints as JSON.
import Foundation
import PageModel
import PageStore

let arguments = CommandLine.arguments
guard arguments.count >= 4, let seconds = Double(arguments[3]) else {
    print("StoreWorker crowd|write|watch|idle|open STORE SECONDS [NAME]")
    exit(64)
}
let name = arguments.count > 4 ? arguments[4] : "w"

@Sendable func now() -> Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }

do {
    let store = try await PageStore.open(at: arguments[2], mode: .createIfMissing, now: now())
    let result: [String: Any] =
        switch arguments[1] {
        case "crowd": try await Crowd(store: store, name: name, seconds: seconds).run()
        case "write": try await Stopwatch.write(store, seconds: seconds)
        case "watch": try await Stopwatch.watch(store, seconds: seconds)
        case "idle": try await Stopwatch.idle(store, seconds: seconds)
        default: [:]
        }
    await store.close()
    print(String(decoding: try JSONSerialization.data(withJSONObject: result, options: .sortedKeys), as: UTF8.self))
} catch {
    print(#"{"error":"\#(error)"}"#)
    exit(70)
}
