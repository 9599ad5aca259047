import PageModel
import StorageSupport
import Synchronization

/// A storage that works on threads of its own: counts the calls that have not come back, so that a world knows when
/// nothing more can come.
///
/// State: the count, atomic; a call is counted from before it leaves until it is back with its task.
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
