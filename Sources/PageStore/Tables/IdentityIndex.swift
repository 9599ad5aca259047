import PageModel

/// Maps items to the bodies that hold them, in memory, between the commits of one connection. A long load can then
/// check every page for repeated ids (R5) without reading the list again.
///
/// The entries of a list are valid for one content version of the list (R51). A commit by another process gives the
/// list another version. A transaction that rolls back clears the index.
struct IdentityIndex {
    /// The items of one list. A class, because changing a struct inside a dictionary would cost allocations.
    fileprivate final class List {
        /// The body of each identity key.
        var owners = KeyTable()
        /// The offset of each body's page.
        var offsets: [Int64: Int]
        /// The version of the list that the entries describe.
        var version: ContentVersion

        init(offsets: [Int64: Int], at version: ContentVersion) {
            self.offsets = offsets
            self.version = version
        }
    }

    private var lists: [QueryID: List] = [:]

    /// Records the version of a list. Call last in a transaction that commits to the list.
    /// - Parameter version: the list's version after the commit.
    mutating func setVersion(_ query: QueryID, at version: ContentVersion) { lists[query]?.version = version }

    mutating func forgetAll() { lists.removeAll() }
    mutating func forget(_ query: QueryID) { lists[query] = nil }

    /// Returns the bodies that hold any of these items, with their offsets.
    /// - Parameter version: the list's version when the transaction began.
    mutating func bodies(
        holding items: [ItemIdentity], in query: QueryID, at version: ContentVersion, _ connection: Connection
    ) throws(StorageError) -> [Int64: Int] {
        try list(query, version, connection).bodies(holding: items)
    }

    mutating func add(_ body: Int64, at offset: Int, _ identities: [ItemIdentity], in query: QueryID) {
        lists[query]?.add(body, at: offset, identities)
    }

    /// Removes a body. Call when it is deleted. Its keys may remain, but they no longer lead to an offset.
    mutating func remove(_ body: Int64, in query: QueryID) {
        lists[query]?.offsets[body] = nil
    }

    /// Moves the offsets. Call when stretches of a list have moved.
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
        // A process works on few lists at a time. The index keeps no more than four, to save memory.
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
