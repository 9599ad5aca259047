import PageModel

/// Queues storage notices for lists, and decides which list handles its notices next. Pure logic, without I/O.
///
/// ```
///          a notice for it             next()                ended()
/// idle ─────────────────────▶ queued ──────────▶ delivering ─────────▶ idle, or queued again
/// ```
struct ChangeScheduler {
    /// The query that a list observes.
    enum Observation: Equatable {
        case inactive
        /// This query. `nil` means any query, because the list is not stored yet.
        case observing(QueryID?)
    }

    private enum DeliveryState {
        case idle
        case queued
        /// `again`: whether listeners were added or removed during the delivery, so that another delivery must follow.
        case delivering(again: Bool)
    }

    private struct Entry {
        var observation = Observation.inactive
        var state = DeliveryState.idle
        var notices: [StorageNotice] = []
    }

    /// The maximum number of queued notices of a list. A larger number is folded into one notice.
    private let capacity: Int
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var observers: [QueryID: ObjectIdentifier] = [:]
    /// Lists that are not stored yet.
    private var unstoredLists: Set<ObjectIdentifier> = []
    /// The lists with a queued delivery, in order, starting at `first`.
    private var queue: [ObjectIdentifier] = []
    private var first = 0

    init(capacity: Int = 256) { self.capacity = capacity }

    /// The number of queued deliveries.
    var queuedCount: Int { queue.count - first }

    /// Records that the list has a new listener.
    mutating func listenerAdded(to list: ObjectIdentifier) {
        let entry = entries[list, default: Entry()]
        switch (entry.state, entry.observation) {
        case (.idle, .inactive), (.delivering, _): schedule(list)
        // The list already observes its query, or will take the new listener into account in its queued delivery.
        case (.idle, .observing), (.queued, _): break
        }
    }

    /// Records that the list has lost its last listener.
    mutating func listenersRemoved(from list: ObjectIdentifier) { schedule(list) }

    /// Starts the list's observation of `query`, and ends its earlier one. `nil` means any query, because the list is
    /// not stored yet.
    /// - Returns: the observation that ended.
    mutating func observe(_ query: QueryID?, _ list: ObjectIdentifier) -> Observation {
        let before = leave(list)
        entries[list, default: Entry()].observation = .observing(query)
        if let query { observers[query] = list } else { unstoredLists.insert(list) }
        return before
    }

    /// Ends the list's observation, and drops its queued notices.
    /// - Returns: the observation that ended.
    mutating func stop(_ list: ObjectIdentifier) -> Observation {
        entries[list]?.notices = []
        return leave(list)
    }

    /// Removes the list.
    /// - Returns: the observation that ended.
    mutating func forget(_ list: ObjectIdentifier) -> Observation {
        defer { entries[list] = nil }
        return leave(list)
    }

    mutating func enqueue(_ notice: StorageNotice) {
        switch notice {
        case .changed(let set):
            if let list = observers[set.query] { put(notice, list) }
            guard set.mayBeginList else { return }
        case .invalidated(let queries):
            for query in queries { if let list = observers[query] { put(.invalidated([query]), list) } }
        }
        for list in unstoredLists { put(notice, list) }
    }

    /// Returns the next list, with all its queued notices. The caller must call `ended` after the delivery. Returns nil
    /// when no delivery is queued.
    mutating func next() -> (list: ObjectIdentifier, notices: [StorageNotice])? {
        while first < queue.count {
            let list = queue[first]
            first += 1
            if first == queue.count { (queue, first) = ([], 0) }
            guard let entry = entries[list], case .queued = entry.state else { continue }
            entries[list]?.state = .delivering(again: false)
            entries[list]?.notices = []
            return (list, entry.notices)
        }
        return nil
    }

    mutating func ended(_ list: ObjectIdentifier) {
        guard let entry = entries[list], case .delivering(let again) = entry.state else { return }
        entries[list]?.state = .idle
        if again || !entry.notices.isEmpty { schedule(list) }
    }

    private mutating func put(_ notice: StorageNotice, _ list: ObjectIdentifier) {
        entries[list]?.notices.append(notice)
        if let entry = entries[list], entry.notices.count > capacity {
            entries[list]?.notices = [entry.notices.folded(to: capacity)]
        }
        if case .idle = entries[list]?.state { schedule(list) }
    }

    private mutating func schedule(_ list: ObjectIdentifier) {
        switch entries[list, default: Entry()].state {
        case .idle:
            entries[list, default: Entry()].state = .queued
            queue.append(list)
        case .queued: break
        case .delivering: entries[list]?.state = .delivering(again: true)
        }
    }

    private mutating func leave(_ list: ObjectIdentifier) -> Observation {
        guard let observation = entries[list]?.observation else { return .inactive }
        entries[list]?.observation = .inactive
        switch observation {
        case .inactive: break
        case .observing(nil): unstoredLists.remove(list)
        // Another list object with the same query may have become its observer since.
        case .observing(let query?): if observers[query] == list { observers[query] = nil }
        }
        return observation
    }
}

extension ChangeSet {
    /// Whether the changes may begin a list that was not stored, or that was fetched with other credentials.
    fileprivate var mayBeginList: Bool {
        changes.contains { if case .registered = $0 { true } else { $0 == .described } }
    }
}
