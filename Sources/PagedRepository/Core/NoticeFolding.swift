import PageModel

// Many queued notices become one.
extension [StorageNotice] {
    /// Returns all notices as one. If all are changes of one query by this storage object, the result is a change with
    /// the details that a list reports. In all other cases, or if more than `most` changes are left, the result names
    /// the queries to read again.
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

    /// The changes of all notices together, if this storage object made them, and all concern one query. `nil`
    /// otherwise.
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
    /// Adds a change. Neighbouring stored positions become one change. A change that leaves all items as they are is
    /// dropped, unless it is the first change. Changes of the ledger are kept as one change without positions.
    fileprivate mutating func fold(_ change: ChangeSet.Change) {
        switch change {
        case .stored(let range): store(range)
        case .ledger: if !contains(.ledger([])) { insert(.ledger([]), at: 0) }
        default: if change.changesItems || isEmpty { append(change) }
        }
    }

    private mutating func store(_ range: Range<Int>) {
        // The positions of a change count after all earlier changes, so only the last stored ranges can be joined.
        var ranges = [range]
        while case .stored(let other)? = last {
            ranges.append(other)
            removeLast()
        }
        append(contentsOf: Coverage(ranges).segments.map { .stored($0) })
    }
}
