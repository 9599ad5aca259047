import PageModel

// Many queued notices become one.
extension [StorageNotice] {
    /// Returns all notices as one. Changes by this storage object to one query stay changes, in the detail that a list
    /// reports. In all other cases, or if more than `most` changes are left, the notice names the queries to read
    /// again.
    func folded(to most: Int) -> StorageNotice {
        if let set = joined, set.changes.count <= most { return .changed(set) }
        var queries: Set<QueryID> = []
        for notice in self {
            switch notice {
            case .changed(let set): queries.insert(set.query)
            case .invalidated(let some): queries.formUnion(some)
            }
        }
        return .invalidated(queries.sorted { $0.rawValue < $1.rawValue })
    }

    /// The changes of all notices, if this storage object made them, and to one query.
    private var joined: ChangeSet? {
        var joined: ChangeSet?
        for notice in self {
            guard case .changed(let set) = notice, joined.map({ $0.query == set.query }) ?? true else { return nil }
            var changes = joined?.changes ?? []
            for change in set.changes { changes.fold(change) }
            joined = set
            joined?.changes = changes
        }
        return joined
    }
}

extension [ChangeSet.Change] {
    /// Adds a change. Neighbouring stored positions become one change. Of the changes that leave all items as they are, a
    /// list reports those of the ledger alone, whatever their positions.
    fileprivate mutating func fold(_ change: ChangeSet.Change) {
        switch change {
        case .stored(let range): store(range)
        case .ledger: if !contains(.ledger([])) { insert(.ledger([]), at: 0) }
        default: if change.changesItems || isEmpty { append(change) }
        }
    }

    private mutating func store(_ range: Range<Int>) {
        // Positions are those after the changes before, so only the last stored ones can be joined.
        var ranges = [range]
        while case .stored(let other)? = last {
            ranges.append(other)
            removeLast()
        }
        append(contentsOf: Coverage(ranges).segments.map { .stored($0) })
    }
}
