// One of several processes on a store. The first argument selects the work, and the results are printed as JSON.
import Foundation
import PageModel
import PageStore

let arguments = CommandLine.arguments
guard arguments.count >= 4, let seconds = Double(arguments[3]) else {
    print(
        """
        StoreWorker crowd|ping|pong|idle|open|look STORE SECONDS [NAME], StoreWorker die STORE CALL KIND,
        StoreWorker append STORE PAGES LIST THRESHOLD MICROSECONDS, StoreWorker merge STORE SECONDS LIST MICROSECONDS,
        StoreWorker rate STORE SECONDS LIST, StoreWorker replica ADDRESS SECONDS NAME, StoreWorker drain ADDRESS 0
        """)
    exit(64)
}
let name = arguments.count > 4 ? arguments[4] : "w"

do {
    if arguments[1] == "die" { try await KilledWriter.run(arguments[2], kind: UInt32(name) ?? 0, call: Int(seconds)) }
    if arguments[1] == "append" { try await Appender.run(arguments) }
    if arguments[1] == "merge" { try Appender.mergeUnlocked(arguments, seconds: seconds) }
    if arguments[1] == "rate" { try await Appender.rate(arguments, seconds: seconds) }
    #if PostgreSQL && canImport(Glibc)
    if arguments[1] == "drain" {
        try await Drain.run(arguments)
        exit(0)
    }
    if arguments[1] == "replica" {
        try await Replica.run(arguments, seconds: seconds)
        exit(0)
    }
    #endif
    if arguments[1] == "look" { try await ReadOnlyProcess.look(arguments[2]) }
    let store = try await SQLitePageStore.open(at: arguments[2], mode: .createIfMissing)
    let result: [String: Any] =
        switch arguments[1] {
        case "crowd": try await Crowd(store: store, name: name, seconds: seconds).run()
        case "ping": try await Stopwatch.ping(store, seconds: seconds)
        case "pong": try await Stopwatch.pong(store)
        case "idle": try await Stopwatch.idle(store)
        default: [:]
        }
    await store.close()
    print(String(decoding: try JSONSerialization.data(withJSONObject: result, options: .sortedKeys), as: UTF8.self))
} catch {
    print(#"{"error":"\#(error)"}"#)
    exit(70)
}
