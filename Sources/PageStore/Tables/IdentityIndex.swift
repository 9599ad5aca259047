import PageModel

/// Which body holds which item, kept in memory between the commits of one connection, so that R5 can be checked on
/// every page of a long load without reading the list again each time.
///
/// It is trusted only as long as no other connection has committed: `Connection.dataVersion` changes then, and with each commit of
/// this connection. A transaction that rolls
/// back forgets everything.
struct IdentityIndex {
    /// One list's items. A class: a value changed in a dictionary costs allocations on the way there.
    fileprivate final class List {
        /// Identity key → body.
        var owners = KeyTable()
        /// Body → where its page lies.
        var offsets: [Int64: Int]

        init(offsets: [Int64: Int]) { self.offsets = offsets }
    }

    private var lists: [QueryID: List] = [:]
    private var dataVersion: UInt32?

    /// Call inside each write transaction, first.
    /// - Returns: whether no other connection has committed since this one did.
    mutating func refresh(_ connection: Connection) -> Bool {
        let version = connection.dataVersion
        let isUnchanged = version != nil && version == dataVersion
        if !isUnchanged { lists.removeAll() }
        dataVersion = version
        return isUnchanged
    }

    /// Call after each commit of this connection, which changes the number, too.
    mutating func committed(_ connection: Connection) { dataVersion = connection.dataVersion }

    mutating func forgetAll() { lists.removeAll() }
    mutating func forget(_ query: QueryID) { lists[query] = nil }

    /// The bodies that hold any of these items, and where.
    mutating func bodies(
        holding items: [ItemIdentity], in query: QueryID, _ connection: Connection
    ) throws(StorageError) -> [Int64: Int] {
        try list(query, connection).bodies(holding: items)
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

    private mutating func list(_ query: QueryID, _ connection: Connection) throws(StorageError) -> List {
        if let known = lists[query] { return known }
        let list = List(offsets: try IdentityTable.offsets(of: query, connection))
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
