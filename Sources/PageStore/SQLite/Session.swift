import PageModel

/// The writing connection, and what is remembered between its transactions.
///
/// Mutable state: the index of items, the owner's lock, the tokens that are reserved, the leases that were granted, the change sets of
/// the running transaction. All of it belongs to whoever holds the writer's mutex.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private let accesses: AccessLog
    private let checkpointer: Checkpointer
    private let announce: @Sendable ([ChangeSet]) -> Void
    private let clock: any StorageClock
    private var ownerLock: OwnerLock?
    var leases = HeldLeases()
    /// The leases that the transaction under way has ended.
    private var endedLeases: [LeaseToken] = []
    private var tokens: Range<Int64> = 0..<0
    /// The block was reserved by the transaction under way.
    private var hasReserved = false
    private var pending: [ChangeSet] = []

    /// - Parameter announce: called after a commit, by whoever made it, with what it changed.
    init(
        connection: Connection, accesses: AccessLog, checkpointer: Checkpointer, clock: any StorageClock,
        announce: @escaping @Sendable ([ChangeSet]) -> Void
    ) {
        self.connection = connection
        self.accesses = accesses
        self.checkpointer = checkpointer
        self.clock = clock
        self.announce = announce
    }

    /// Runs `body` in a write transaction; what it noted is announced once it is committed.
    func write<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        pending.removeAll(keepingCapacity: true)
        endedLeases.removeAll()
        hasReserved = false
        let value: Value
        do throws(StorageError) {
            value = try connection.transaction(.write, body)
        } catch {
            // What was reserved is rolled back with it, and may be another's.
            if hasReserved { tokens = 0..<0 }
            throw error
        }
        for token in endedLeases { leases.end(token) }
        if !pending.isEmpty { announce(pending) }
        // Room for a few; not that of the largest transaction there was.
        if pending.count > 16 { pending = [] } else { pending.removeAll(keepingCapacity: true) }
        return value
    }

    /// The same for what is judged by the time, and stores times: those of the storage's clock, once the lock is had (R52).
    func write<Value>(_ body: (StorageMoment) throws(StorageError) -> Value) throws(StorageError) -> Value {
        try write { () throws(StorageError) in
            let moment = StorageMoment(clock)
            let value = try body(moment)
            if let reads = accesses.drain(at: moment.now) {
                try AccessTable.note(reads.bodies, at: reads.at, in: connection)
            }
            return value
        }
    }

    /// A lease is over, once the transaction is committed. Call inside `write`.
    func end(_ token: LeaseToken) { endedLeases.append(token) }

    /// A number that no lease had before. Call inside `write`.
    func newToken() throws(StorageError) -> LeaseToken {
        if tokens.isEmpty {
            hasReserved = true
            tokens = try CounterTable.reserve(in: connection)
        }
        defer { tokens = tokens.lowerBound + 1..<tokens.upperBound }
        return LeaseToken(rawValue: tokens.lowerBound)
    }

    /// Writes down which pages were read since the last time, in a transaction of its own.
    /// - Parameter force: whether it is noted however little time has passed.
    func noteReads(force: Bool = false) throws(StorageError) {
        guard let reads = accesses.drain(at: clock.now(), force: force) else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            try AccessTable.note(reads.bodies, at: reads.at, in: connection)
        }
    }

    /// Call inside `write`.
    func note(_ set: ChangeSet) { pending.append(set) }

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
