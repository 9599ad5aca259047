import PageModel

/// The writing connection, and what is remembered between its transactions.
///
/// Mutable state: the index of items, the owner's lock, the generator of versions' stamps, the tokens that are
/// reserved, the leases that were granted, the change sets of the running transaction, the file's stamp and when it was
/// last checked. All of it belongs to the thread that holds the writer's mutex.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private var fileStamp: StoreStamp?
    private var fileCheckedAt: UInt64 = 0
    private let notesLog: Bool
    private let accesses: AccessLog
    let merger: LogMerger
    private let announce: @Sendable ([ChangeSet]) -> Void
    private let clock: any StorageClock
    private var ownerLock: OwnerLock?
    var leases = HeldLeases()
    /// The leases that the transaction under way has ended.
    private var endedLeases: [LeaseToken] = []
    private var tokens: Range<Int64> = 0..<0
    /// The block was reserved by the transaction under way.
    private var hasReserved = false
    /// How much of a list's journal is kept.
    let journalBound: JournalBound
    private var stamps: any RandomNumberGenerator
    private var pending: [ChangeSet] = []
    /// What `Connection.dataVersion` was after the last commit: another connection's commit changes it, too.
    private var dataVersion: UInt32?
    /// The list that the last transaction committed; `nil` when it was a transaction of another kind, or failed.
    private var left: CommittedList?
    /// The same, while a transaction runs and no other connection has committed since.
    private var known: CommittedList?
    private var toLeave: CommittedList?
    /// Set while bytes of what was purged may still be in the log: how many commits are left to the next attempt, and
    /// to the one after it.
    private var emptyingAfter: (commits: Int, next: Int)?

    /// - Parameters:
    ///   - clock: what every stored time comes from (R52).
    ///   - mergeBytes: the size of the log from which on it is merged, in bytes of database pages.
    ///   - journalBound: how much of a list's journal is kept.
    ///   - stamps: draws the stamps of versions (R51).
    ///   - openLocker: opens a second connection, which holds the write lock during merges.
    ///   - notesLog: whether the log's owner is noted beside the file, see `LogOwner`. Default: true.
    ///   - announce: receives the changes of each commit, on the thread that committed.
    init(
        connection: Connection, accesses: AccessLog, clock: any StorageClock, mergeBytes: Int,
        journalBound: JournalBound,
        stamps: any RandomNumberGenerator, openLocker: @escaping () throws(StorageError) -> Connection,
        notesLog: Bool = true, announce: @escaping @Sendable ([ChangeSet]) -> Void
    ) throws(StorageError) {
        self.notesLog = notesLog
        self.journalBound = journalBound
        self.stamps = stamps
        self.clock = clock
        self.connection = connection
        self.accesses = accesses
        self.announce = announce
        let merger = LogMerger(bytes: mergeBytes, writer: connection, openLocker: openLocker)
        self.merger = merger
        fileStamp = try StoreStamp(of: connection)
        let pageSize = Int(try connection.pragma("page_size"))
        connection.observeLog { [unowned merger] in merger.logHasGrown(to: $0, pageSize: pageSize) }
    }

    /// Runs `body` in a write transaction; what it noted is announced once it is committed.
    func write<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        toLeave = nil
        let before = merger.commits
        let value = try aroundDamage { () throws(StorageError) in try attempt(body) }
        for token in endedLeases { leases.end(token) }
        // A commit of the merger may have come after one of another connection: then nothing is known.
        if merger.commits == before {
            dataVersion = connection.dataVersion
            left = toLeave
        }
        toLeave = nil
        if merger.isNew {
            merger.isNew = false
            if notesLog { LogOwner.note(fileStamp, beside: connection.path) }
        }
        if !pending.isEmpty { announce(pending) }
        // Room for a few; not that of the largest transaction there was.
        if pending.count > 16 { pending = [] } else { pending.removeAll(keepingCapacity: true) }
        if emptyingAfter != nil { retryEmptyingLog() }
        return value
    }

    /// One attempt at a write transaction: nothing of a failed one is left.
    private func attempt<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        pending.removeAll(keepingCapacity: true)
        endedLeases.removeAll(keepingCapacity: true)
        hasReserved = false
        do throws(StorageError) {
            return try connection.transaction(.write) { () throws(StorageError) in
                try checkFile()
                let version = connection.dataVersion
                known = version != nil && version == dataVersion ? left : nil
                dataVersion = version
                left = nil
                return try body()
            }
        } catch {
            // What was reserved is rolled back with it, and may be another's.
            if hasReserved { tokens = 0..<0 }
            throw error
        }
    }

    /// The same for what is judged by the time, and stores times: those of the storage's clock, once the lock is had
    /// (R52).
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

    /// Under the write lock: no commit is acknowledged in a file that the path no longer leads to, or that was
    /// overwritten. A file that was in its place within the last millisecond is not looked at again.
    private func checkFile() throws(StorageError) {
        let now = Watchdog.now()
        guard now &- fileCheckedAt >= 1_000_000 else { return }
        try connection.checkPlace()
        try fileStamp?.check(connection)
        fileCheckedAt = now
    }

    /// Runs a transaction again, without the row that it could not reach, as often as it meets another one.
    private func aroundDamage<Value>(_ transaction: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        while true {
            let known = connection.unreachable.count
            do throws(StorageError) {
                return try transaction()
            } catch {
                guard error.isUnreadableRow, connection.unreachable.count > known, known < Session.mostUnreachable
                else { throw error }
                identities.forgetAll()
            }
        }
    }

    /// So many rows that cannot be reached are a store that has to be repaired first.
    private static let mostUnreachable = 4_096

    /// Writes down which pages were read since the last time, in a transaction of its own.
    /// - Parameter force: whether it is noted however little time has passed.
    func noteReads(force: Bool = false) throws(StorageError) {
        guard let reads = accesses.drain(at: clock.now(), force: force) else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            try AccessTable.note(reads.bodies, at: reads.at, in: connection)
        }
    }

    /// The record of a list and the end of its journal. Commits to one list follow each other, so the last commit knows
    /// both, unless another connection has committed since. Call inside `write`.
    /// - Returns: `nil` when the list is gone.
    func list(_ query: QueryID) throws(StorageError) -> CommittedList? {
        if let known, known.record.id == query { return known }
        return try QueryTable.findForCommit(query, in: connection)
    }

    /// Keeps what a plan has made of its list for the next commit. Call inside `write`, last.
    func leave(_ list: CommittedList) { toLeave = list }

    /// Call inside `write`.
    func note(_ set: ChangeSet) { pending.append(set) }

    /// Gives a list its next version, and appends to its journal what changed in it (R48, R51). Call inside `write`,
    /// once for each list that readers see changed.
    /// - Parameters:
    ///   - tail: where its journal ends; nil: it is looked up. Default: nil.
    ///   - holdings: what the list holds now; nil where that is not known.
    func advance(
        _ query: QueryID, _ draft: JournalDraft, after tail: JournalTail? = nil, holdings: ListHoldings?,
        at now: Timestamp
    ) throws(StorageError) -> (version: ContentVersion, tail: JournalTail) {
        try JournalTable.append(
            draft, to: query, after: tail, stamp: stamps.next(), at: now, bound: journalBound, holdings: holdings,
            in: connection)
    }

    /// Removes what was committed from the log, see `LogMerger.empty`.
    /// - Parameter isUrgent: whether readers and other writers are waited for, for as long as the busy budget.
    /// - Returns: whether nothing is left in the log.
    @discardableResult
    func emptyLog(isUrgent: Bool) throws(StorageError) -> Bool {
        try merger.empty(isUrgent: isUrgent)
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

    /// Finishes a purge that an earlier process could not finish. Waits for no lock.
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

/// A list as a commit reads and leaves it.
struct CommittedList {
    var record: QueryRecord
    /// `nil` where it has to be looked up.
    var tail: JournalTail?
    /// `nil` where it is not known.
    var holdings: ListHoldings?
}
