import PageModel

/// The writing connection, and what is remembered between its transactions.
///
/// Mutable state: the index of items, the owner's lock, the generator of stamps, the change sets of the running transaction.
/// All of it belongs to whoever holds the writer's mutex.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private let accesses: AccessLog
    private let checkpointer: Checkpointer
    private let announce: @Sendable ([ChangeSet]) -> Void
    private var ownerLock: OwnerLock?
    /// How much of a list's journal is kept.
    let journalBound: JournalBound
    private var stamps: any RandomNumberGenerator
    private var pending: [ChangeSet] = []

    /// - Parameters:
    ///   - stamps: draws the stamps of versions (R51).
    ///   - announce: called after a commit, by whoever made it, with what it changed.
    init(
        connection: Connection, accesses: AccessLog, checkpointer: Checkpointer, journalBound: JournalBound,
        stamps: any RandomNumberGenerator, announce: @escaping @Sendable ([ChangeSet]) -> Void
    ) {
        self.journalBound = journalBound
        self.stamps = stamps
        self.connection = connection
        self.accesses = accesses
        self.checkpointer = checkpointer
        self.announce = announce
    }

    /// Runs `body` in a write transaction; what it noted is announced once it is committed.
    /// - Parameter moment: the time of what is written; nil where time does not matter.
    func write<Value>(
        at moment: Timestamp? = nil, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        pending.removeAll(keepingCapacity: true)
        let value = try connection.transaction(.write) { () throws(StorageError) in
            let value = try body()
            if let moment, let reads = accesses.drain(at: moment) {
                try AccessTable.note(reads.bodies, at: reads.at, in: connection)
            }
            return value
        }
        if !pending.isEmpty { announce(pending) }
        // Room for a few; not that of the largest transaction there was.
        if pending.count > 16 { pending = [] } else { pending.removeAll(keepingCapacity: true) }
        return value
    }

    /// Writes down which pages were read since the last time, in a transaction of its own.
    func noteReads(at moment: Timestamp? = nil, force: Bool = false) throws(StorageError) {
        guard let reads = accesses.drain(at: moment, force: force) else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            try AccessTable.note(reads.bodies, at: reads.at, in: connection)
        }
    }

    /// Call inside `write`.
    func note(_ set: ChangeSet) { pending.append(set) }

    /// Gives a list its next version, and appends to its journal what changed in it (R48, R51). Call inside `write`, once for
    /// each list that readers see changed.
    /// - Parameter tail: where its journal ends; nil: it is looked up. Default: nil.
    func advance(
        _ query: QueryID, _ draft: JournalDraft, after tail: JournalTail? = nil, at now: Timestamp
    ) throws(StorageError) -> ContentVersion {
        try JournalTable.append(
            draft, to: query, after: tail, stamp: stamps.next(), at: now, bound: journalBound, in: connection)
    }

    /// Empties the log, unless others are in the way: for longer than the busy budget if it is urgent, at all if it is not.
    func emptyLog(isUrgent: Bool) throws(StorageError) {
        // What this process merges would be in the way, too. Nothing more begins while we have the writer.
        checkpointer.wait()
        try connection.emptyLog(isUrgent: isUrgent)
    }

    /// Who this connection is in leases; made when it first takes one, so that reading a store writes nothing.
    func owner() throws(StorageError) -> OwnerLock {
        if let ownerLock { return ownerLock }
        let made = try OwnerLock(store: connection.path)
        ownerLock = made
        return made
    }
}
