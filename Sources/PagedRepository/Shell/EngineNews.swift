import PageModel
import Synchronization

/// What an engine was told since it looked last.
///
/// State, under a mutex: the task that listens puts in, the engine's task takes out.
final class EngineNews: Sendable {
    struct Told: Sendable {
        var queries: Set<QueryID> = []
        /// Others may have purged lists, which nobody names then.
        var isByOthers = false
        /// Nobody says what changed.
        var isEverything = false
    }

    private let told = Mutex(Told())

    func heard(_ notice: StorageNotice) {
        told.withLock { told in
            switch notice {
            case .changed(let set): told.queries.insert(set.query)
            case .mayHaveChanged(let queries):
                told.queries.formUnion(queries)
                told.isByOthers = true
                if queries.isEmpty { told.isEverything = true }
            }
        }
    }

    /// A run of this query has ended, and what it did may not have been told yet.
    func ended(_ query: QueryID) { told.withLock { _ = $0.queries.insert(query) } }

    func take() -> Told {
        told.withLock { told in
            defer { told = Told() }
            return told
        }
    }
}

extension StorageNotice {
    /// Whether it may be work for an engine: a list that is new, pinned, or failing.
    var mayBeWork: Bool {
        guard case .changed(let set) = self else { return true }
        return set.changes.contains { change in
            switch change {
            case .registered, .described, .ledger, .purged, .validated, .demoted, .dropped: true
            case .stored, .rearranged, .confirmed, .generationBegan, .olderGenerationsDropped, .truncated, .total, .end:
                false
            }
        }
    }
}
