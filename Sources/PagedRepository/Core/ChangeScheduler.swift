import PageModel

/// Queues storage notices for lists, and decides which list handles its notices next. A pure decision.
///
/// ```
///            something for it              next()             ended()
/// resting ────────────────────▶ waiting ──────────▶ hearing ──────────▶ resting, or waiting again
/// ```
struct ChangeScheduler {
    /// The query that a list observes.
    enum Place: Equatable {
        case nowhere
        /// This query. `nil` means any query, because the list is not stored yet.
        case follows(QueryID?)
    }

    private enum Turn {
        case resting
        case waiting
        /// `again`: listeners came or left during the turn, and the list may have missed it.
        case hearing(again: Bool)
    }

    private struct Entry {
        var place = Place.nowhere
        var turn = Turn.resting
        var notices: [StorageNotice] = []
    }

    /// The most queued notices of a list. Beyond that they are folded into one.
    private let capacity: Int
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var followers: [QueryID: ObjectIdentifier] = [:]
    /// Lists that are not stored yet.
    private var strangers: Set<ObjectIdentifier> = []
    /// The lists that wait for their turn, in order, starting at `first`.
    private var queue: [ObjectIdentifier] = []
    private var first = 0

    init(capacity: Int = 256) { self.capacity = capacity }

    /// The number of turns that wait.
    var turns: Int { queue.count - first }

    /// Records that the list has a new listener.
    mutating func came(to list: ObjectIdentifier) {
        let entry = entries[list, default: Entry()]
        switch (entry.turn, entry.place) {
        case (.resting, .nowhere), (.hearing, _): call(list)
        // The list observes its query already, or will see the listener in its coming turn.
        case (.resting, .follows), (.waiting, _): break
        }
    }

    /// Records that the list has lost its listeners.
    mutating func left(_ list: ObjectIdentifier) { call(list) }

    /// - Returns: the place that it observed before.
    mutating func follow(_ query: QueryID?, _ list: ObjectIdentifier) -> Place {
        let before = leave(list)
        entries[list, default: Entry()].place = .follows(query)
        if let query { followers[query] = list } else { strangers.insert(list) }
        return before
    }

    /// Ends the list's observation, and drops its queued notices.
    mutating func stop(_ list: ObjectIdentifier) -> Place {
        entries[list]?.notices = []
        return leave(list)
    }

    /// Removes the list.
    mutating func forget(_ list: ObjectIdentifier) -> Place {
        defer { entries[list] = nil }
        return leave(list)
    }

    mutating func told(_ notice: StorageNotice) {
        switch notice {
        case .changed(let set):
            if let list = followers[set.query] { put(notice, list) }
            guard set.mayBeginList else { return }
        case .invalidated(let queries):
            for query in queries { if let list = followers[query] { put(.invalidated([query]), list) } }
        }
        for list in strangers { put(notice, list) }
    }

    /// Returns the list whose turn it is, with all its queued notices. The caller must call `ended` after the turn.
    mutating func next() -> (list: ObjectIdentifier, notices: [StorageNotice])? {
        while first < queue.count {
            let list = queue[first]
            first += 1
            if first == queue.count { (queue, first) = ([], 0) }
            guard let entry = entries[list], case .waiting = entry.turn else { continue }
            entries[list]?.turn = .hearing(again: false)
            entries[list]?.notices = []
            return (list, entry.notices)
        }
        return nil
    }

    mutating func ended(_ list: ObjectIdentifier) {
        guard let entry = entries[list], case .hearing(let again) = entry.turn else { return }
        entries[list]?.turn = .resting
        if again || !entry.notices.isEmpty { call(list) }
    }

    private mutating func put(_ notice: StorageNotice, _ list: ObjectIdentifier) {
        entries[list]?.notices.append(notice)
        if let entry = entries[list], entry.notices.count > capacity {
            entries[list]?.notices = [entry.notices.folded(to: capacity)]
        }
        if case .resting = entries[list]?.turn { call(list) }
    }

    private mutating func call(_ list: ObjectIdentifier) {
        switch entries[list, default: Entry()].turn {
        case .resting:
            entries[list, default: Entry()].turn = .waiting
            queue.append(list)
        case .waiting: break
        case .hearing: entries[list]?.turn = .hearing(again: true)
        }
    }

    private mutating func leave(_ list: ObjectIdentifier) -> Place {
        guard let place = entries[list]?.place else { return .nowhere }
        entries[list]?.place = .nowhere
        switch place {
        case .nowhere: break
        case .follows(nil): strangers.remove(list)
        // A newer list with the same key may have taken its place.
        case .follows(let query?): if followers[query] == list { followers[query] = nil }
        }
        return place
    }
}

extension ChangeSet {
    /// Whether the change may begin a list that was not stored, or that was fetched with other credentials.
    fileprivate var mayBeginList: Bool {
        changes.contains { if case .registered = $0 { true } else { $0 == .described } }
    }
}
