import PageModel

/// What lists have to hear, and whose turn it is: pure.
///
/// ```
///            something for it              next()             ended()
/// resting ────────────────────▶ waiting ──────────▶ hearing ──────────▶ resting, or waiting again
/// ```
struct NoticeDesk {
    /// What a list follows.
    enum Place: Equatable {
        case nowhere
        /// This query; nil: any, because the list is not stored yet.
        case follows(QueryID?)
    }

    private enum Turn {
        case resting
        case waiting
        /// `again`: somebody came or went meanwhile, which the list may not have seen.
        case hearing(again: Bool)
    }

    private struct Entry {
        var place = Place.nowhere
        var turn = Turn.resting
        var notices: [StorageNotice] = []
    }

    /// Of a list that does not get to hear, what waits is folded beyond so many.
    private let capacity: Int
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var followers: [QueryID: ObjectIdentifier] = [:]
    /// Lists that are not stored yet.
    private var strangers: Set<ObjectIdentifier> = []
    /// Whose turn comes, in order, from `first` on.
    private var queue: [ObjectIdentifier] = []
    private var first = 0

    init(capacity: Int = 256) { self.capacity = capacity }

    /// How many turns are to be had.
    var turns: Int { queue.count - first }

    /// Somebody listens to the list.
    mutating func came(to list: ObjectIdentifier) {
        let entry = entries[list, default: Entry()]
        switch (entry.turn, entry.place) {
        case (.resting, .nowhere), (.hearing, _): call(list)
        // It follows already, or will see that somebody is there.
        case (.resting, .follows), (.waiting, _): break
        }
    }

    /// Somebody listens no more.
    mutating func left(_ list: ObjectIdentifier) { call(list) }

    /// - Returns: what it followed before.
    mutating func follow(_ query: QueryID?, _ list: ObjectIdentifier) -> Place {
        let before = leave(list)
        entries[list, default: Entry()].place = .follows(query)
        if let query { followers[query] = list } else { strangers.insert(list) }
        return before
    }

    /// The list follows nothing any more, and what waits for it is forgotten.
    mutating func stop(_ list: ObjectIdentifier) -> Place {
        entries[list]?.notices = []
        return leave(list)
    }

    /// The list is gone.
    mutating func forget(_ list: ObjectIdentifier) -> Place {
        defer { entries[list] = nil }
        return leave(list)
    }

    mutating func told(_ notice: StorageNotice) {
        switch notice {
        case .changed(let set):
            if let list = followers[set.query] { put(notice, list) }
            guard set.mayBeginList else { return }
        case .mayHaveChanged(let queries):
            for query in queries { if let list = followers[query] { put(.mayHaveChanged([query]), list) } }
        }
        for list in strangers { put(notice, list) }
    }

    /// Whose turn it is, and everything that waits for it. Tell when it has `ended`.
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
        if let entry = entries[list], entry.notices.count > capacity { entries[list]?.notices = [entry.notices.folded] }
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
        // Another list of the same key may have come after it.
        case .follows(let query?): if followers[query] == list { followers[query] = nil }
        }
        return place
    }
}

extension [StorageNotice] {
    /// Where to look, of everything that was told.
    fileprivate var folded: StorageNotice {
        var queries: Set<QueryID> = []
        for notice in self {
            switch notice {
            case .changed(let set): queries.insert(set.query)
            case .mayHaveChanged(let some): queries.formUnion(some)
            }
        }
        return .mayHaveChanged(queries.sorted { $0.rawValue < $1.rawValue })
    }
}

extension ChangeSet {
    /// Whether a list that was not stored, or was somebody else's, may be there now.
    fileprivate var mayBeginList: Bool {
        changes.contains { if case .registered = $0 { true } else { $0 == .described } }
    }
}
