import PageModel

/// The writing connection, and the state that is kept between its transactions.
///
/// Mutable state: the index of items, the owner's lock, the generator of version stamps, the reserved tokens, the
/// granted leases, the list of the last commit, the pending change sets, the file's stamp with the time of its last
/// check, and the numbers of its schema. All of it belongs to the thread that holds the writer's mutex.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private var fileStamp: StoreStamp?
    private var fileCheckedAt: UInt64 = 0
    /// The numbers of the schema at its last check. `nil` before the first write transaction.
    private var schema: SchemaNumbers?
    private let notesLog: Bool
    private let accesses: AccessLog
    let merger: LogMerger
    private let announce: @Sendable ([ChangeSet]) -> Void
    private let clock: any StorageClock
    private var ownerLock: OwnerLock?
    var leases = HeldLeases()
    /// The leases that the current transaction has ended.
    private var endedLeases: [LeaseToken] = []
    private var tokens: Range<Int64> = 0..<0
    /// Whether the current transaction reserved the block of tokens.
    private var hasReserved = false
    /// The bound of each list's journal.
    let journalBound: JournalBound
    private var stamps: any RandomNumberGenerator
    private var pending: [ChangeSet] = []
    /// The value of `Connection.dataVersion` after the last commit. A commit of another connection changes the value,
    /// too.
    private var dataVersion: UInt32?
    /// The list that the last transaction committed. `nil` when that transaction committed no plan, or failed.
    private var lastCommitted: CommittedList?
    /// The value of `lastCommitted`, during the next transaction. `nil` when another connection has committed since.
    private var known: CommittedList?
    /// The list that the present transaction commits.
    private var committed: CommittedList?
    /// Set while purged bytes may still be in the log. `commits` is the number of commits until the next attempt to
    /// empty the log. `next` is the number of commits between that attempt and the one after it.
    private var emptyingAfter: (commits: Int, next: Int)?

    /// - Parameters:
    ///   - clock: the source of every stored time (R52).
    ///   - mergeBytes: the size of the log at which it is merged, in bytes of database pages.
    ///   - journalBound: the bound of each list's journal.
    ///   - stamps: the generator of version stamps (R51).
    ///   - openLocker: opens a second connection, which holds the write lock during merges.
    ///   - notesLog: whether the log's owner is recorded next to the file, see `LogOwner`. Defaults to true.
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

    /// Runs `body` in a write transaction, and announces the noted changes after the commit.
    func write<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        committed = nil
        let before = merger.commits
        let value = try aroundDamage { () throws(StorageError) in try attempt(body) }
        for token in endedLeases { leases.end(token) }
        // A commit of the merger may have followed a commit of another connection. The cached list is then not used.
        if merger.commits == before {
            dataVersion = connection.dataVersion
            lastCommitted = committed
        }
        committed = nil
        if merger.isNew {
            merger.isNew = false
            if notesLog { LogOwner.note(fileStamp, beside: connection.path) }
        }
        if !pending.isEmpty { announce(pending) }
        // Keeps the memory of a small array, but not that of the largest transaction.
        if pending.count > 16 { pending = [] } else { pending.removeAll(keepingCapacity: true) }
        if emptyingAfter != nil { retryEmptyingLog() }
        return value
    }

    /// Attempts a write transaction. A failed attempt leaves no state behind.
    private func attempt<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        pending.removeAll(keepingCapacity: true)
        endedLeases.removeAll(keepingCapacity: true)
        hasReserved = false
        do throws(StorageError) {
            return try connection.transaction(.write) { () throws(StorageError) in
                try checkFile()
                let version = connection.dataVersion
                let isUnchanged = version != nil && version == dataVersion
                if !isUnchanged { try checkSchema() }
                known = isUnchanged ? lastCommitted : nil
                dataVersion = version
                lastCommitted = nil
                return try body()
            }
        } catch {
            // The reservation was rolled back, so another process may reserve the same tokens.
            if hasReserved { tokens = 0..<0 }
            throw error
        }
    }

    /// Runs `body` in a write transaction with the storage's time. The clock is read after the lock is taken (R52).
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

    /// Marks a lease as ended once the transaction is committed. Call inside `write`.
    func end(_ token: LeaseToken) { endedLeases.append(token) }

    /// Returns a token that no lease had before. Call inside `write`.
    func newToken() throws(StorageError) -> LeaseToken {
        if tokens.isEmpty {
            hasReserved = true
            tokens = try CounterTable.reserve(in: connection)
        }
        defer { tokens = tokens.lowerBound + 1..<tokens.upperBound }
        return LeaseToken(rawValue: tokens.lowerBound)
    }

    /// Checks, under the write lock, that the file is in its place and was not overwritten. Otherwise no commit may be
    /// acknowledged. Skips the check for one millisecond after the last check.
    private func checkFile() throws(StorageError) {
        let now = Watchdog.now()
        guard now &- fileCheckedAt >= 1_000_000 else { return }
        try connection.checkPlace()
        try fileStamp?.check(connection)
        fileCheckedAt = now
    }

    /// Checks the schema again if its numbers differ from those of the last check. Only a commit of another connection
    /// changes them.
    private func checkSchema() throws(StorageError) {
        let numbers = try SchemaNumbers(of: connection)
        guard numbers != schema else { return }
        try numbers.check(connection)
        schema = numbers
    }

    /// Runs a transaction, and retries it each time it meets a row that cannot be reached. The retry skips that row.
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

    /// The number of unreachable rows from which on the store must be repaired first.
    private static let mostUnreachable = 4_096

    /// Stores which pages were read since the last call, in a transaction of its own.
    /// - Parameter force: whether to store them even if the interval has not passed. Defaults to false.
    func noteReads(force: Bool = false) throws(StorageError) {
        guard let reads = accesses.drain(at: clock.now(), force: force) else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            try AccessTable.note(reads.bodies, at: reads.at, in: connection)
        }
    }

    /// Stores the times of reads before the connection closes. These times only decide which pages an eviction removes
    /// first. So the call waits for other processes for 100 ms at most.
    func noteLastReads() {
        _ = try? connection.waiting(atMost: .milliseconds(100)) { () throws(StorageError) in
            try noteReads(force: true)
        }
    }

    /// Returns the record of a list and the end of its journal. Successive commits often change the same list, so the
    /// last commit's result is used unless another connection has committed since. Call inside `write`.
    /// - Returns: `nil` when the list is gone.
    func list(_ query: QueryID) throws(StorageError) -> CommittedList? {
        if let known, known.record.id == query { return known }
        return try QueryTable.findForCommit(query, in: connection)
    }

    /// Keeps the committed list for the next commit. Call inside `write`, last.
    func keepForNextCommit(_ list: CommittedList) { committed = list }

    /// Adds changes to announce after the commit. Call inside `write`.
    func note(_ set: ChangeSet) { pending.append(set) }

    /// Gives a list its next version and appends the changes to its journal (R48, R51). Call inside `write`, once for
    /// each list with changes that readers see.
    /// - Parameters:
    ///   - tail: the end of the journal. `nil` means that it is looked up. Defaults to nil.
    ///   - holdings: the holdings of the list after the changes. `nil` means that they are not known.
    func advance(
        _ query: QueryID, _ draft: JournalDraft, after tail: JournalTail? = nil, holdings: ListHoldings?,
        at now: Timestamp
    ) throws(StorageError) -> (version: ContentVersion, tail: JournalTail) {
        try JournalTable.append(
            draft, to: query, after: tail, stamp: stamps.next(), at: now, bound: journalBound, holdings: holdings,
            in: connection)
    }

    /// Removes all committed data from the log, see `LogMerger.empty`.
    /// - Parameter isUrgent: whether the call waits for readers and other writers, up to the busy budget.
    /// - Returns: whether the log is empty.
    @discardableResult
    func emptyLog(isUrgent: Bool) throws(StorageError) -> Bool {
        try merger.empty(isUrgent: isUrgent)
    }

    // MARK: Purged bytes

    /// Schedules the emptying of the log after a purge was committed. Later commits retry until the log holds no purged
    /// bytes.
    func purgeIsCommitted() { emptyingAfter = (1, 1) }

    /// Empties the log after a purge, also after one that an earlier process left unfinished. Then deletes the tasks of
    /// `UpkeepTable` that were stored when the call began.
    /// - Returns: whether the log is free of purged bytes.
    @discardableResult
    func finishPurges(isUrgent: Bool) throws(StorageError) -> Bool {
        let tasks = try UpkeepTable.logTasks(in: connection)
        guard !tasks.isEmpty else {
            emptyingAfter = nil
            return true
        }
        // A later commit tries again, also after an error.
        let wait = emptyingAfter?.next ?? 1
        emptyingAfter = (wait, min(wait * 2, Session.longestWait))
        guard try emptyLog(isUrgent: isUrgent) else { return false }
        emptyingAfter = nil
        try connection.transaction(.write) { () throws(StorageError) in try UpkeepTable.clear(tasks, in: connection) }
        // This commit writes no purged data, so emptying the log is not urgent.
        try emptyLog(isUrgent: false)
        return true
    }

    /// Finishes a purge that an earlier process left unfinished. Waits for no lock.
    func resumePurges() {
        guard (try? UpkeepTable.hasLog(in: connection)) == true else { return }
        emptyingAfter = (0, 1)
        retryEmptyingLog()
    }

    /// Tries again to empty the log. The commit has succeeded, so errors are ignored.
    private func retryEmptyingLog() {
        guard let wait = emptyingAfter else { return }
        guard wait.commits <= 1 else { return emptyingAfter = (wait.commits - 1, wait.next) }
        _ = try? connection.withoutWaiting { () throws(StorageError) in try finishPurges(isUrgent: false) }
    }

    /// The largest number of commits between two attempts, because each attempt waits for the disk.
    private static let longestWait = 64

    /// Returns the owner of this connection's leases. The owner is created when a lease is first taken or checked, so
    /// that reading a store writes no file.
    func owner() throws(StorageError) -> OwnerLock {
        if let ownerLock { return ownerLock }
        let made = try OwnerLock(store: connection.path)
        ownerLock = made
        return made
    }
}

/// A list as a commit reads it and leaves it.
struct CommittedList {
    var record: QueryRecord
    /// The end of the journal. `nil` means that it must be looked up.
    var tail: JournalTail?
    /// The holdings. `nil` means that they are not known.
    var holdings: ListHoldings?
}
