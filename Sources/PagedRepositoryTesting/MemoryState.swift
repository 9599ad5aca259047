import PageModel

/// The state of a `MemoryStorage`: all lists, and the next unused numbers.
struct MemoryState: Sendable {
    var lists: [QueryID: MemoryList] = [:]
    /// The id of the next query. Ids are never reused, so that a plan for a purged query cannot apply to another query.
    var nextID: Int64 = 1
    /// The token of the next lease. Tokens are never reused, even after a lease has ended (R30).
    var nextToken: Int64 = 1
    let bound: JournalBound
    var stamps: any RandomNumberGenerator & Sendable
    /// The changes of the running transaction.
    var news: [ChangeSet] = []

    var inOrder: [MemoryList] { lists.values.sorted { $0.record.id.rawValue < $1.record.id.rawValue } }

    func list(_ key: QueryKey) -> MemoryList? { lists.values.first { $0.record.key.isSame(as: key) } }

    /// Sets the time of the reads that were noted since the last call (R40).
    mutating func stampReads(at now: Timestamp) {
        for query in lists.keys { lists[query]?.stampReads(at: now) }
    }

    /// Gives a list its next version (R51).
    mutating func advance(_ query: QueryID, at now: Timestamp) {
        lists[query]?.advance(stamp: stamps.next(), at: now)
    }

    mutating func announce(_ changes: [ChangeSet.Change], of query: QueryID) {
        guard !changes.isEmpty else { return }
        let record = lists[query]?.record
        news.append(
            ChangeSet(
                query: query, version: record?.version, contentVersion: record?.contentVersion, changes: changes))
    }

    mutating func announceLedger(_ offsets: [Int], of query: QueryID) {
        announce(offsets.isEmpty ? [] : [.ledger(offsets)], of: query)
    }
}

extension QueryKey {
    /// Compares byte for byte, because Swift's `==` treats canonically equivalent texts as equal.
    fileprivate func isSame(as other: QueryKey) -> Bool {
        scope.utf8.elementsEqual(other.scope.utf8) && text.utf8.elementsEqual(other.text.utf8)
    }
}
