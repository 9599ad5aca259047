import PageModel
import Synchronization

/// The changes that were reported to an engine since its last look.
///
/// State, under a mutex: the listening task adds changes, and the engine's task takes them.
final class PendingChanges: Sendable {
    struct Changes: Sendable {
        var queries: Set<QueryID> = []
        /// Whether other processes made changes. These processes may have purged lists, and a notice does not name
        /// purged lists.
        var isByOthers = false
        /// Whether a notice named no query, so that any list may have changed.
        var isEverything = false
    }

    private let pending = Mutex(Changes())

    func record(_ notice: StorageNotice) {
        pending.withLock { pending in
            switch notice {
            case .changed(let set): pending.queries.insert(set.query)
            case .invalidated(let queries):
                pending.queries.formUnion(queries)
                pending.isByOthers = true
                if queries.isEmpty { pending.isEverything = true }
            }
        }
    }

    /// Records that a run of this query has ended. The notices of its commits may not have arrived yet.
    func runEnded(_ query: QueryID) { pending.withLock { _ = $0.queries.insert(query) } }

    func take() -> Changes {
        pending.withLock { pending in
            defer { pending = Changes() }
            return pending
        }
    }
}

extension StorageNotice {
    /// Whether the change may create work for an engine: a new list, a pinned list, or a failing page, for example.
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
