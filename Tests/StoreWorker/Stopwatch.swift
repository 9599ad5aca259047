import Foundation
import PageModel
import PageStore

/// Measures how long a commit takes to reach an observer in another process, and what an idle observer costs.
enum Stopwatch {
    /// Commits the current time in microseconds, and waits for the answer of the other process before the next commit.
    static func ping(_ store: SQLitePageStore, seconds: Double) async throws -> [String: Any] {
        let clock = try await Line(store, "ping")
        let end = Date().addingTimeInterval(seconds)
        var count = 0
        for await _ in try await Line(store, "pong").words() {
            guard Date() < end else { break }
            try await clock.say("\(Date().timeIntervalSince1970)")
            count += 1
        }
        try await clock.say("end")
        return ["commits": count]
    }

    /// Reads each committed time when its notice arrives, and answers.
    static func pong(_ store: SQLitePageStore) async throws -> [String: Any] {
        var delays: [Double] = []
        let answers = try await Line(store, "pong")
        let words = try await Line(store, "ping").words()
        try await answers.say("ready")
        for await word in words where word != "end" {
            guard let sent = Double(word) else { continue }
            delays.append((Date().timeIntervalSince1970 - sent) * 1_000)
            try await answers.say(word)
        }
        delays.sort()
        func percentile(_ share: Double) -> Double {
            delays.isEmpty ? -1 : delays[min(delays.count - 1, Int(Double(delays.count) * share))]
        }
        return [
            "notices": delays.count, "p50_ms": percentile(0.5), "p99_ms": percentile(0.99), "max_ms": delays.last ?? -1,
        ]
    }

    /// A list whose description carries words from one process to another.
    private struct Line {
        let store: SQLitePageStore
        let key: QueryKey
        let id: QueryID

        init(_ store: SQLitePageStore, _ name: String) async throws {
            self.store = store
            key = QueryKey(name)
            id = try await store.register(key).id
        }

        func say(_ word: String) async throws {
            guard let record = try await store.query(key) else { return }
            _ = try await store.commit(
                CommitPlan(query: id, version: record.version, edits: [.describe(paging: word, source: "")]))
        }

        /// Returns every word that differs from the previous one, including an initial word, up to "end".
        func words() async throws -> AsyncStream<String> {
            let notices = store.notices(of: id)
            let (words, continuation) = AsyncStream<String>.makeStream()
            var last = ""
            @Sendable func look() async -> String { (try? await store.query(key))?.paging ?? "" }
            last = await look()
            if !last.isEmpty { continuation.yield(last) }
            let first = last
            let listening = Task {
                var last = first
                for await _ in notices {
                    let word = await look()
                    guard word != last else { continue }
                    last = word
                    continuation.yield(word)
                    if word == "end" { break }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in listening.cancel() }
            return words
        }
    }

    /// Observes all lists until SIGTERM. Returns the processor time used.
    static func idle(_ store: SQLitePageStore) async throws -> [String: Any] {
        signal(SIGTERM, SIG_IGN)
        let (told, continuation) = AsyncStream<Void>.makeStream()
        let signals = DispatchSource.makeSignalSource(signal: SIGTERM)
        signals.setEventHandler { continuation.finish() }
        signals.resume()
        let notices = store.notices(of: nil)
        let watching = Task {
            var heard = 0
            for await _ in notices { heard += 1 }
            return heard
        }
        let (began, before) = (Date(), processorMilliseconds())
        for await _ in told {}
        let used = processorMilliseconds() - before
        watching.cancel()
        return ["cpu_ms": used, "seconds": Date().timeIntervalSince(began), "heard": await watching.value]
    }

    private static func processorMilliseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
    }
}
