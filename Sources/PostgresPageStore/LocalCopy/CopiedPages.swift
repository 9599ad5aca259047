#if PostgreSQL
import PageModel
package import PageStore
import Synchronization

/// The local copy of a store, and the lists that the copy may serve (Decision 0022).
///
/// State: the checked lists, the counts of reads, the columns of notices and the tasks that remove purged lists, each
/// behind a mutex or an atomic. The tasks end with the store.
package final class CopiedPages: Sendable {
    package let file: LocalPageCopy
    private let lists = Mutex(CheckedLists())
    private let task = Mutex<Task<Void, Never>?>(nil)
    /// The columns of notices since the last comparison. `nil` while no comparison is planned.
    private let noticed = Mutex<Set<Int>?>(nil)
    /// `hits` counts the reads that found all items in the copy. `misses` counts the other reads.
    let hits = Atomic<Int>(0)
    let misses = Atomic<Int>(0)

    /// - Parameter store: the number that identifies the store on the server.
    init(_ settings: PostgreSQLPageStore.LocalCopy, of store: UInt64) {
        file = LocalPageCopy(at: settings.path, bound: max(1 << 20, settings.bytes), store: store)
    }

    deinit { task.withLock { $0?.cancel() } }

    func trusted(_ query: QueryID, changeCount: UInt64?, for trust: Duration) -> CheckedList? {
        lists.withLock { $0.trusted(query, changeCount: changeCount, for: trust, at: .now) }
    }

    func note(_ checked: CheckedList, rows: [PageRow], in range: Range<Int>) {
        lists.withLock { $0.note(checked, rows: rows, in: range) }
    }

    /// Counts a read of items.
    /// - Parameter isHit: whether all items came from the copy.
    func count(isHit: Bool) {
        if isHit { hits.add(1, ordering: .relaxed) } else { misses.add(1, ordering: .relaxed) }
    }

    func observe(_ record: QueryRecord) { lists.withLock { $0.observe(record, at: .now) } }

    /// Removes purged lists from memory and from the file.
    func purge(_ queries: [QueryID]) async {
        guard !queries.isEmpty else { return }
        lists.withLock { lists in
            for query in queries { lists.remove(query) }
        }
        await file.purge(queries)
    }

    // MARK: Purges of other replicas

    private static let stored = SQL("SELECT id FROM @query WHERE id = ANY($1::bigint[])")

    /// Removes the lists that the server does not have any more, now and at each interval.
    func start(on server: Server, every interval: Duration) {
        task.withLock { task in
            task = Task { [weak self, weak server] in
                while !Task.isCancelled {
                    guard let self, let server else { return }
                    await self.dropPurged(on: server)
                    do { try await Task.sleep(for: interval) } catch { return }
                }
            }
        }
    }

    /// The shortest time between two comparisons that notices cause.
    private static let pause = Duration.milliseconds(100)

    /// Plans a comparison of the lists in these columns with the server, because a notice does not say whether a list
    /// was purged.
    func received(_ columns: Set<Int>, on server: Server) {
        let isPlanned = noticed.withLock { noticed in
            defer { noticed = (noticed ?? []).union(columns) }
            return noticed != nil
        }
        guard !isPlanned else { return }
        Task { [weak self, weak server] in
            try? await Task.sleep(for: CopiedPages.pause)
            guard let self, let server else { return }
            let columns = self.noticed.withLock { noticed in
                defer { noticed = nil }
                return noticed ?? []
            }
            await self.dropPurged(in: columns, on: server)
        }
    }

    /// Removes the lists in these columns that the server does not have any more.
    /// - Parameter columns: the columns of a notice; `nil` means all.
    func dropPurged(in columns: Set<Int>? = nil, on server: Server) async {
        let held = await file.queries().filter { query in
            columns?.contains(ChangeBroadcaster.column(of: QueryID(rawValue: query))) ?? true
        }
        // If the server does not answer, the comparison of the next interval finds these lists.
        guard !held.isEmpty, let rows = try? await server.read((CopiedPages.stored, [.integers(held.sorted())])) else {
            return
        }
        await purge(held.subtracting(rows.all.map { $0.int64(0) }).map { QueryID(rawValue: $0) })
    }

    func close() async {
        task.withLock { task in
            task?.cancel()
            task = nil
        }
        await file.close()
    }
}
#endif
