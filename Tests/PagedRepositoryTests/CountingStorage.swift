import PageModel
import StorageSupport
import Synchronization

/// A storage that counts how often each list is read. With `countsChanges: false` it returns no change counts, like a
/// storage that cannot count changes.
///
/// State: the read counts by query, under a mutex.
final class CountingStorage: RelayedStorage {
    let storage: any PageStorage
    private let countsChanges: Bool
    private let reads = Mutex<[QueryID?: Int]>([:])
    private let windowReads = Mutex(0)
    private let wholeReads = Mutex(0)

    init(_ storage: any PageStorage, countsChanges: Bool = true) {
        self.storage = storage
        self.countsChanges = countsChanges
    }

    /// Returns how many transactions read this query. `nil` means the reads of all records.
    func reads(of query: QueryID?) -> Int { reads.withLock { $0[query] ?? 0 } }
    /// The reads of all queries, without the reads of records.
    var allReads: Int { reads.withLock { $0.filter { $0.key != nil }.values.reduce(0, +) } }
    /// The reads of all pages of a list, without their items.
    var outlines: Int { wholeReads.withLock { $0 } }
    /// The reads of items.
    var windows: Int { windowReads.withLock { $0 } }
    private func count(_ query: QueryID?) { reads.withLock { $0[query, default: 0] += 1 } }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        switch call {
        case .records: count(nil)
        case .window(let query):
            count(query)
            windowReads.withLock { $0 += 1 }
        case .outline(let query), .list(let query):
            count(query)
            wholeReads.withLock { $0 += 1 }
        case .excerpt(let query): count(query)
        case .register, .query, .state, .summaries, .locate, .changes, .commit, .claim, .record, .heartbeat, .due,
            .purge,
            .setPinned, .evict:
            break
        }
        return try await body()
    }

    func changeCount(of query: QueryID) -> UInt64? { countsChanges ? storage.changeCount(of: query) : nil }
}
