import Foundation
import Measuring
import PostgresPageStore
import SideBySide

/// The table of all figures of this program.
let part = "a fleet"

/// A store in a schema of its own.
func withStore<Value>(
    _ address: String, schema: String? = nil, _ change: (inout PostgreSQLPageStore.Options) -> Void = { _ in },
    _ body: (PostgreSQLPageStore) async throws -> Value
) async throws -> Value {
    var options = PostgreSQLPageStore.Options()
    options.schema = schema ?? newSchema()
    options.busyBudget = .seconds(30)
    change(&options)
    let store = try await PostgreSQLPageStore.open(address, options: options)
    do {
        let value = try await body(store)
        await store.close()
        return value
    } catch {
        await store.close()
        throw error
    }
}

func newSchema() -> String { "bench_" + UUID().uuidString.lowercased().filter { $0 != "-" } }

/// Prints a row, or a line for people.
func say(
    _ what: String, who: String = "pagecache", unit: String, _ value: Double, p95: Double? = nil, p99: Double? = nil
) {
    if Row.areAsked {
        Row(part: part, what: what, who: who, unit: unit, value, p95: p95, p99: p99).print()
    } else {
        let tail = [p95, p99].compactMap { $0?.shown() }.joined(separator: " / ")
        print(what.left(52), who.left(12), value.shown().right(12), unit, tail)
    }
}

/// Runs tasks until the time is over. Returns the sum of what they did, for each second.
func rate(
    clients: Int, seconds: Double, _ body: @escaping @Sendable (Int, ContinuousClock.Instant) async throws -> Int
) async throws -> Double {
    let begin = ContinuousClock.now
    let end = begin + .seconds(seconds)
    let done = try await withThrowingTaskGroup(of: Int.self) { group in
        for client in 0..<clients { group.addTask { try await body(client, end) } }
        return try await group.reduce(0, +)
    }
    return Double(done) / ((ContinuousClock.now - begin).microseconds / 1e6)
}
