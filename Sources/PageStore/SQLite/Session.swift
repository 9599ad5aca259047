import PageModel

/// The writing connection, and what is remembered between its transactions.
///
/// Mutable state: the index of items, the owner's lock, the generator of versions' stamps, the change sets of the running transaction,
/// the file's stamp and when it was last checked. All of it belongs to whoever holds the writer's mutex.
final class Session {
    let connection: Connection
    var identities = IdentityIndex()
    private var fileStamp: StoreStamp?
    private var fileCheckedAt: UInt64 = 0
    private let accesses: AccessLog
    let merger: LogMerger
    private let announce: @Sendable ([ChangeSet]) -> Void
    private var ownerLock: OwnerLock?
    /// How much of a list's journal is kept.
    let journalBound: JournalBound
    private var stamps: any RandomNumberGenerator
    private var pending: [ChangeSet] = []
    /// The list that the last transaction committed; `nil` when it was a transaction of another kind, or failed.
    private var left: CommittedList?
    /// The same, while a transaction runs and no other connection has committed since.
    private var known: CommittedList?
    private var toLeave: CommittedList?

    /// - Parameters:
    ///   - mergeBytes: the size of the log from which on it is merged, in bytes of database pages.
    ///   - journalBound: how much of a list's journal is kept.
    ///   - stamps: draws the stamps of versions (R51).
    ///   - openLocker: opens a second connection, which holds the write lock during merges.
    ///   - announce: receives the changes of each commit, on the thread that committed.
    init(
        connection: Connection, accesses: AccessLog, mergeBytes: Int, journalBound: JournalBound, stamps: any RandomNumberGenerator,
        openLocker: @escaping () throws(StorageError) -> Connection, announce: @escaping @Sendable ([ChangeSet]) -> Void
    ) throws(StorageError) {
        self.journalBound = journalBound
        self.stamps = stamps
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
    /// - Parameter moment: the time of what is written; nil where time does not matter.
    func write<Value>(
        at moment: Timestamp? = nil, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        pending.removeAll(keepingCapacity: true)
        toLeave = nil
        let value = try connection.transaction(.write) { () throws(StorageError) in
            try checkFile()
            let isUnchanged = identities.refresh(connection)
            known = isUnchanged ? left : nil
            left = nil
            let value = try body()
            if let moment, let reads = accesses.drain(at: moment) {
                try AccessTable.note(reads.bodies, at: reads.at, in: connection)
            }
            return value
        }
        identities.committed(connection)
        left = toLeave
        toLeave = nil
        if !pending.isEmpty { announce(pending) }
        // Room for a few; not that of the largest transaction there was.
        if pending.count > 16 { pending = [] } else { pending.removeAll(keepingCapacity: true) }
        return value
    }

    /// Under the write lock: no commit is acknowledged in a file that the path no longer leads to, or that was overwritten. A file that
    /// was in its place within the last millisecond is not looked at again.
    private func checkFile() throws(StorageError) {
        let now = Watchdog.now()
        guard now &- fileCheckedAt >= 1_000_000 else { return }
        try connection.checkPlace()
        try fileStamp?.check(connection)
        fileCheckedAt = now
    }

    /// Writes down which pages were read since the last time, in a transaction of its own.
    func noteReads(at moment: Timestamp? = nil, force: Bool = false) throws(StorageError) {
        guard let reads = accesses.drain(at: moment, force: force) else { return }
        try connection.transaction(.write) { () throws(StorageError) in
            try AccessTable.note(reads.bodies, at: reads.at, in: connection)
        }
    }

    /// The record of a list and the end of its journal. Commits to one list follow each other, so the last commit knows both, unless
    /// another connection has committed since. Call inside `write`.
    /// - Returns: `nil` when the list is gone.
    func list(_ query: QueryID) throws(StorageError) -> CommittedList? {
        if let known, known.record.id == query { return known }
        return try QueryTable.findForCommit(query, in: connection)
    }

    /// Keeps what a plan has made of its list for the next commit. Call inside `write`, last.
    func leave(_ list: CommittedList) { toLeave = list }

    /// Call inside `write`.
    func note(_ set: ChangeSet) { pending.append(set) }

    /// Gives a list its next version, and appends to its journal what changed in it (R48, R51). Call inside `write`, once for
    /// each list that readers see changed.
    /// - Parameter tail: where its journal ends; nil: it is looked up. Default: nil.
    func advance(
        _ query: QueryID, _ draft: JournalDraft, after tail: JournalTail? = nil, at now: Timestamp
    ) throws(StorageError) -> (version: ContentVersion, tail: JournalTail) {
        try JournalTable.append(
            draft, to: query, after: tail, stamp: stamps.next(), at: now, bound: journalBound, in: connection)
    }

    /// Removes what was committed from the log, see `LogMerger.empty`.
    /// - Parameter isUrgent: whether readers and other writers are waited for, for as long as the busy budget.
    /// - Returns: whether nothing is left in the log.
    @discardableResult
    func emptyLog(isUrgent: Bool) throws(StorageError) -> Bool {
        try merger.empty(isUrgent: isUrgent)
    }

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
    var tail: JournalTail
}
