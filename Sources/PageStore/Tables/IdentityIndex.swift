import PageModel

/// Which body holds which item, kept in memory between the commits of one connection, so that R5 can be checked on
/// every page of a long load without reading the list again each time.
///
/// A list's part is right for one content version of the list (R51): another process's commit to the list gives it
/// another version. A transaction that rolls back forgets everything.
struct IdentityIndex {
    /// One list's items. A class: a value changed in a dictionary costs allocations on the way there.
    fileprivate final class List {
        /// Identity key → body.
        var owners = KeyTable()
        /// Body → where its page lies.
        var offsets: [Int64: Int]
        /// What this was read at, or was left at by the last commit.
        var version: ContentVersion

        init(offsets: [Int64: Int], at version: ContentVersion) {
            self.offsets = offsets
            self.version = version
        }
    }

    private var lists: [QueryID: List] = [:]

    /// Call last in a transaction that commits to a list.
    /// - Parameter version: the list's version after it.
    mutating func settle(_ query: QueryID, at version: ContentVersion) { lists[query]?.version = version }

    mutating func forgetAll() { lists.removeAll() }
    mutating func forget(_ query: QueryID) { lists[query] = nil }

    /// The bodies that hold any of these items, and where.
    /// - Parameter version: the list's version when the transaction began.
    mutating func bodies(
        holding items: [ItemIdentity], in query: QueryID, at version: ContentVersion, _ connection: Connection
    ) throws(StorageError) -> [Int64: Int] {
        try list(query, version, connection).bodies(holding: items)
    }

    mutating func add(_ body: Int64, at offset: Int, _ identities: [ItemIdentity], in query: QueryID) {
        lists[query]?.add(body, at: offset, identities)
    }

    /// Call when a body is deleted. Its keys may stay behind: they lead to no place and so to no hit.
    mutating func remove(_ body: Int64, in query: QueryID) {
        lists[query]?.offsets[body] = nil
    }

    /// Call when stretches of a list have moved.
    mutating func move(_ moves: [Rearrangement.Move], in query: QueryID) {
        let moves = moves.filter { $0.distance != 0 }
        guard !moves.isEmpty, let list = lists[query] else { return }
        list.offsets = list.offsets.mapValues { offset in
            offset + (moves.first { $0.range.contains(offset) }?.distance ?? 0)
        }
    }

    private mutating func list(
        _ query: QueryID, _ version: ContentVersion, _ connection: Connection
    ) throws(StorageError) -> List {
        if let known = lists[query], known.version == version { return known }
        let list = List(offsets: try IdentityTable.offsets(of: query, connection), at: version)
        try IdentityTable.scan(query, connection) { body, hashes in
            BodyCodec.eachKey(in: hashes) { _, key in list.owners.set(key, body) }
        }
        // A process works on few lists at a time; more than this would be memory without use.
        if lists.count >= 4 { lists.removeAll() }
        lists[query] = list
        return list
    }
}

extension IdentityIndex.List {
    fileprivate func add(_ body: Int64, at offset: Int, _ identities: [ItemIdentity]) {
        offsets[body] = offset
        for identity in identities { owners.set(identity.key, body) }
    }

    fileprivate func bodies(holding items: [ItemIdentity]) -> [Int64: Int] {
        var found: [Int64: Int] = [:]
        for item in items {
            if let body = owners[item.key], let offset = offsets[body] { found[body] = offset }
        }
        return found
    }
}
