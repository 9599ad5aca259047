import Foundation
import PageModel
import PageStore

/// How long a commit takes to reach an observer in another process, and what observing costs when nothing happens.
enum Stopwatch {
    private static let key = QueryKey("clock")

    /// Commits the time of day, to the microsecond, a few times a second.
    static func write(_ store: PageStore, seconds: Double) async throws -> [String: Any] {
        let query = try await store.register(key, at: now())
        let end = Date().addingTimeInterval(seconds)
        var count = 0
        while Date() < end {
            _ = try await store.commit(
                CommitPlan(
                    query: query.id, version: query.version, at: now(),
                    edits: [.describe(paging: "\(Date().timeIntervalSince1970)", source: "")]))
            count += 1
            try await Task.sleep(for: .milliseconds(20 + count % 37))
        }
        return ["commits": count]
    }

    /// Reads the time that was committed as soon as it is told.
    static func watch(_ store: PageStore, seconds: Double) async throws -> [String: Any] {
        let query = try await store.register(key, at: now())
        let notices = store.notices(of: query.id)
        let watching = Task {
            var delays: [Double] = []
            var last = ""
            for await _ in notices {
                guard let record = try? await store.query(key), record.paging != last, let sent = Double(record.paging) else { continue }
                last = record.paging
                delays.append((Date().timeIntervalSince1970 - sent) * 1_000)
            }
            return delays.sorted()
        }
        try await Task.sleep(for: .seconds(seconds))
        watching.cancel()
        let delays = await watching.value
        func percentile(_ share: Double) -> Double { delays.isEmpty ? -1 : delays[min(delays.count - 1, Int(Double(delays.count) * share))] }
        return ["notices": delays.count, "p50_ms": percentile(0.5), "p99_ms": percentile(0.99), "max_ms": delays.last ?? -1]
    }

    /// Observes everything while nothing happens; the processor time that takes.
    static func idle(_ store: PageStore, seconds: Double) async throws -> [String: Any] {
        let notices = store.notices(of: nil)
        let watching = Task {
            var heard = 0
            for await _ in notices { heard += 1 }
            return heard
        }
        let before = processorMilliseconds()
        try await Task.sleep(for: .seconds(seconds))
        let used = processorMilliseconds() - before
        watching.cancel()
        return ["cpu_ms": used, "heard": await watching.value]
    }

    private static func processorMilliseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
    }
}
