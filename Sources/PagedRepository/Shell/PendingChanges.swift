import PageModel
import Synchronization

/// The changes that were reported to an engine since its last look.
///
/// State, under a mutex: the listening task adds changes, and the engine's task takes them.
final class PendingChanges: Sendable {
    struct Told: Sendable {
        var queries: Set<QueryID> = []
        /// Whether other processes made changes. They may have purged lists, and a notice does not name purged lists.
        var isByOthers = false
        /// Whether a notice named no query, so that any list may have changed.
        var isEverything = false
    }

    private let told = Mutex(Told())

    func heard(_ notice: StorageNotice) {
        told.withLock { told in
            switch notice {
            case .changed(let set): told.queries.insert(set.query)
            case .invalidated(let queries):
                told.queries.formUnion(queries)
                told.isByOthers = true
                if queries.isEmpty { told.isEverything = true }
            }
        }
    }

    /// Records that a run of this query has ended. The notices of its commits may not have arrived yet.
    func ended(_ query: QueryID) { told.withLock { _ = $0.queries.insert(query) } }

    func take() -> Told {
        told.withLock { told in
            defer { told = Told() }
            return told
        }
    }
}

extension StorageNotice {
    /// Whether the change may be work for an engine: a new list, a pinned list, or a failing page.
    var mayBeWork: Bool {
        guard case .changed(let set) = self else { return true }
        return set.changes.contains { change in
            switch change {
            case .registered, .described, .ledger, .purged, .validated, .markedStale, .dropped: true
            case .stored, .rearranged, .confirmed, .generationBegan, .olderGenerationsDropped, .truncated, .total, .end:
                false
            }
        }
    }
}
