import PagedRepository
import PagedRepositoryTesting

struct Row: Codable, Identifiable, Hashable, Sendable { let id: Int }

/// An API of 48 rows in pages of 10, and one list of it in a store in memory.
struct Bench {
    let origin = ItemOrigin((0..<48).map(Row.init), pageSize: 10)
    let store: SQLitePageStore
    let list: PagedList<Row>
    /// Permanent, so that no retry follows by itself within the same run.
    static let away = FetchFailure(.transport, "the API is offline", isRetryable: false)

    init() async throws {
        store = try await .inMemory()
        let origin = origin
        list = ListRepository(
            storage: store, codec: JSONItemCodec<Row>(), clock: ManualClock(), source: { _ in origin }
        ).list("rows")
    }
}

/// Waits until a property of a port has a value. The test's time limit cancels the wait.
@MainActor
func until(_ condition: () -> Bool) async { while !condition(), !Task.isCancelled { await Task.yield() } }
