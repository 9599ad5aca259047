import PagedRepository
import PagedRepositoryTesting

struct Row: Codable, Identifiable, Hashable, Sendable { let id: Int }

/// An API with 48 rows in pages of 10, and a list of these rows in a store in memory.
struct Bench {
    let origin = ItemOrigin((0..<48).map(Row.init), pageSize: 10)
    let store: SQLitePageStore
    let list: PagedList<Row>
    /// A permanent failure, so that the run does not retry the request by itself.
    static let away = FetchFailure(.transport, "the API is offline", isRetryable: false)

    init() async throws {
        store = try await .inMemory()
        let origin = origin
        list = ListRepository(
            storage: store, codec: JSONItemCodec<Row>(), clock: ManualClock(), source: { _ in origin }
        ).list("rows")
    }
}

/// Waits until the condition is true. The time limit of the test cancels the wait.
@MainActor
func until(_ condition: () -> Bool) async { while !condition(), !Task.isCancelled { await Task.yield() } }
