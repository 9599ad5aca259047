import PageModel
import StorageSupport
import Synchronization

/// A storage that works on its own threads. The count of unfinished calls tells the simulation when no further result
/// can arrive.
///
/// State: the atomic count. A call counts from before it starts until its task has the result.
final class CountedStorage: RelayedStorage {
    let storage: any PageStorage
    private let count = Atomic<Int>(0)

    init(_ storage: any PageStorage) { self.storage = storage }

    var isBusy: Bool { count.load(ordering: .acquiring) > 0 }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        count.add(1, ordering: .acquiringAndReleasing)
        defer { count.subtract(1, ordering: .acquiringAndReleasing) }
        return try await body()
    }
}
