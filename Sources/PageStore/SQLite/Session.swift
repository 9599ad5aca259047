import PageModel

/// The writing connection, and what is remembered between its transactions.
///
/// Mutable state: the index of items, the owner's lock, the change sets of the running transaction. All of it
/// belongs to whoever holds the writer's mutex.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private let accesses: AccessLog
    private let checkpointer: Checkpointer
    private let announce: @Sendable ([ChangeSet]) -> Void
    private var ownerLock: OwnerLock?
    private var pending: [ChangeSet] = []
    /// Set while bytes of what was purged may still be in the log: how many commits are left to the next attempt, and to the one after it.
    private var emptyingAfter: (commits: Int, next: Int)?

    /// - Parameter announce: called after a commit, by whoever made it, with what it changed.
    init(
        connection: Connection, accesses: AccessLog, checkpointer: Checkpointer, announce: @escaping @Sendable ([ChangeSet]) -> Void
    ) {
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
        let value = try aroundDamage { () throws(StorageError) in
            pending.removeAll(keepingCapacity: true)
            return try connection.transaction(.write) { () throws(StorageError) in
                let value = try body()
                if let moment, let reads = accesses.drain(at: moment) {
                    try AccessTable.note(reads.bodies, at: reads.at, in: connection)
                }
                return value
            }
        }
        if !pending.isEmpty { announce(pending) }
        // Room for a few; not that of the largest transaction there was.
        if pending.count > 16 { pending = [] } else { pending.removeAll(keepingCapacity: true) }
        if emptyingAfter != nil { retryEmptyingLog() }
        return value
    }

    /// Runs a transaction again, without the row that it could not reach, as often as it meets another one.
    private func aroundDamage<Value>(_ transaction: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        while true {
            let known = connection.unreachable.count
            do throws(StorageError) {
                return try transaction()
            } catch {
                guard error.isUnreadableRow, connection.unreachable.count > known, known < Session.mostUnreachable else { throw error }
                identities.forgetAll()
            }
        }
    }

    /// So many rows that cannot be reached are a store that has to be repaired first.
    private static let mostUnreachable = 4_096

    /// Writes down which pages were read since the last time, in a transaction of its own.
    func noteReads(at moment: Timestamp? = nil, force: Bool = false) throws(StorageError) {
        guard let reads = accesses.drain(at: moment, force: force) else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            try AccessTable.note(reads.bodies, at: reads.at, in: connection)
        }
    }

    /// Call inside `write`.
    func note(_ set: ChangeSet) { pending.append(set) }

    /// Empties the log, unless others are in the way: for longer than the busy budget if it is urgent, at all if it is not.
    /// - Returns: whether it is empty.
    @discardableResult
    func emptyLog(isUrgent: Bool) throws(StorageError) -> Bool {
        // What this process merges would be in the way, too. Nothing more begins while we have the writer.
        checkpointer.wait()
        return try connection.emptyLog(isUrgent: isUrgent)
    }

    // MARK: Purged bytes

    /// Empties the log after a purge, or after one that could not finish, and then forgets the task.
    /// - Returns: whether nothing of what was purged is in the log.
    @discardableResult
    func finishPurges(isUrgent: Bool) throws(StorageError) -> Bool {
        guard try UpkeepTable.hasLog(in: connection) else {
            emptyingAfter = nil
            return true
        }
        guard try emptyLog(isUrgent: isUrgent) else {
            let wait = emptyingAfter?.next ?? 1
            emptyingAfter = (wait, min(wait * 2, Session.longestWait))
            return false
        }
        emptyingAfter = nil
        try connection.transaction(.write) { () throws(StorageError) in try UpkeepTable.clearLog(in: connection) }
        // What was just written is nothing that was purged.
        try emptyLog(isUrgent: false)
        return true
    }

    /// Looks whether an earlier process left a purge to be finished. Waits for nobody.
    func resumePurges() {
        guard (try? UpkeepTable.hasLog(in: connection)) == true else { return }
        emptyingAfter = (0, 1)
        retryEmptyingLog()
    }

    /// The commit is made, whatever becomes of this.
    private func retryEmptyingLog() {
        guard let wait = emptyingAfter else { return }
        guard wait.commits <= 1 else { return emptyingAfter = (wait.commits - 1, wait.next) }
        _ = try? connection.withoutWaiting { () throws(StorageError) in try finishPurges(isUrgent: false) }
    }

    /// Each attempt waits for the disk: so many commits lie between two at most.
    private static let longestWait = 64

    /// Who this connection is in leases; made when it first takes one, so that reading a store writes nothing.
    func owner() throws(StorageError) -> OwnerLock {
        if let ownerLock { return ownerLock }
        let made = try OwnerLock(store: connection.path)
        ownerLock = made
        return made
    }
}
