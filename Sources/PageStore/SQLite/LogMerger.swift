import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Merges the write-ahead log into the database file, and does so only under the write lock.
///
/// SQLite 3.7.0 to 3.51.2 can lose commits when a connection merges the log while another one restarts it
/// (https://www.sqlite.org/wal.html#the_wal_reset_bug). In that case the merge reads the header of the old log, and the
/// log restarts. Only afterwards does the merge read how much of the log has been merged. A log restarts in a commit,
/// and each commit holds the write lock. So this type first takes the write lock on a second connection. No process can
/// then restart the log before the merge has ended. The method needs only SQLite's public interface, and works with
/// each version of SQLite.
///
/// SQLite merges at two more moments. A connection that is the last one to close holds the exclusive lock of the file.
/// Recovery after a crash holds all locks. No other connection runs at either moment. Automatic merges are off (`PRAGMA
/// wal_autocheckpoint = 0`).
///
/// Mutable state: the schedule, the second connection, and whether a merge has failed. All of it belongs to the thread
/// that holds the writer's mutex. The second connection is closed before the writer.
final class LogMerger {
    private unowned let writer: Connection
    private let openLocker: () throws(StorageError) -> Connection
    private var locker: Connection?
    private var schedule: MergeSchedule
    /// The number of pages in the log after the last commit of this connection. 0 before the first commit.
    private var pages = 0
    /// Whether the session still has to record the owner of the log (`LogOwner`). The first commit sets this, and so
    /// does each commit that restarts the log.
    var isNew = false
    /// The number of commits that this object has made. Each may follow a commit of another connection.
    private(set) var commits = 0
    /// `true` while this object commits or merges.
    private var isWorking = false
    /// `true` once reading, writing or syncing has failed in a merge. This object then merges no more. A later sync can
    /// succeed although pages of the failed merge never reached the disk, and the log would then be overwritten. The
    /// next process that opens the store alone merges the whole log again.
    ///
    /// A write that found no room on the disk does not count. No sync has failed, the log is whole, and the next merge
    /// writes every page of the unfinished one again.
    private(set) var hasFailed = false

    /// - Parameters:
    ///   - bytes: the size of the log at which it is merged, in bytes of database pages.
    ///   - writer: the connection that commits; it outlives this object.
    ///   - openLocker: opens the connection that holds the write lock during merges. Called once, before the first
    ///     merge.
    init(bytes: Int, writer: Connection, openLocker: @escaping () throws(StorageError) -> Connection) {
        schedule = MergeSchedule(bytes: bytes)
        self.writer = writer
        self.openLocker = openLocker
    }

    /// Merges the log when that is due. Call after each commit of the writer. A failed merge leaves the log as it is.
    ///
    /// A reader that began before the merge keeps the log from restarting. When the log has twice the size of the
    /// threshold, a commit of one page restarts it. That commit is retried until readers have left, for at most
    /// `readerPatience`.
    /// - Parameters:
    ///   - pages: the number of pages in the log.
    ///   - pageSize: the size of a page in bytes.
    func logHasGrown(to pages: Int, pageSize: Int) {
        if pages <= self.pages || self.pages == 0 { isNew = true }
        self.pages = pages
        let size = pages * pageSize
        guard !isWorking, schedule.isDue(at: size) else { return }
        isWorking = true
        defer { isWorking = false }
        guard size / 2 >= schedule.bytes else {
            _ = try? merge()
            return
        }
        let deadline = ContinuousClock.now + LogMerger.readerPatience
        while (try? attemptToBeginAnew(isPatient: true, cuttingLog: false)) == false, ContinuousClock.now < deadline {
            usleep(1_000)
        }
    }

    /// The longest time for which a commit retries the restart of the log while readers use it. A read of an outline of
    /// 10,000 pages takes less time, and the busy budget of other writers is far longer.
    private static let readerPatience = Duration.milliseconds(50)

    /// Merges the log under the write lock, as far as no reader still needs the older pages of the file.
    /// - Parameter isPatient: whether the call waits for other writers, as long as a commit would. Defaults to `true`.
    /// - Returns: whether the whole log is in the file. The next commit then restarts the log, unless a reader still
    ///   uses it.
    /// - Throws: `busy` when another process holds the write lock for longer than the busy budget; errors of reading
    ///   and writing.
    func merge(isPatient: Bool = true) throws(StorageError) -> Bool {
        guard !hasFailed else { return false }
        let locker = try opened()
        guard isPatient else {
            return try locker.withoutWaiting { () throws(StorageError) in try merge(under: locker) } ?? false
        }
        return try merge(under: locker)
    }

    private func merge(under locker: Connection) throws(StorageError) -> Bool {
        try locker.holdingWriteLock { () throws(StorageError) in
            do throws(StorageError) {
                return try writer.mergeLog()
            } catch {
                // Another SQLite program is merging at this moment. That is not a failure.
                guard error.code != .busy else { return false }
                guard !LogMerger.foundNoRoom(error) else { throw error }
                hasFailed = true
                // Closing the connections must not merge and delete the log.
                for connection in [writer, locker] { connection.keepLogWhenClosing() }
                throw error
            }
        }
    }

    /// Returns whether a write of the merge found no room. SQLITE_IOERR_FSYNC with a full quota is a failed sync.
    private static func foundNoRoom(_ error: StorageError) -> Bool {
        error.code == .full && (error.cause as? SQLiteError)?.code != SQLITE_IOERR | 4 << 8
    }

    /// Removes all committed data from the log. Merges the log, then restarts it with a commit of one page and cuts it
    /// off after that page. That page is the first of the database, which holds no items.
    /// - Parameters:
    ///   - isUrgent: whether the call waits for readers and other writers, up to the busy budget. Otherwise it makes
    ///     one attempt.
    ///   - pause: waits between two attempts.
    /// - Returns: whether the log is empty, or holds only that page.
    /// - Throws: errors of reading and writing.
    func empty(isUrgent: Bool, pause: () -> Void = { usleep(10_000) }) throws(StorageError) -> Bool {
        guard !hasFailed else { return false }
        isWorking = true
        defer { isWorking = false }
        let deadline = ContinuousClock.now + writer.busyBudget
        while true {
            if StoreFile.hasNoLog(writer.path) { return true }
            if try attemptToBeginAnew(isPatient: isUrgent, cuttingLog: true) { return true }
            guard isUrgent, ContinuousClock.now < deadline else { return false }
            pause()
        }
    }

    private func opened() throws(StorageError) -> Connection {
        if let locker { return locker }
        let opened = try openLocker()
        opened.turns = writer.turns
        locker = opened
        return opened
    }

    private func attemptToBeginAnew(isPatient: Bool, cuttingLog: Bool) throws(StorageError) -> Bool {
        do throws(StorageError) {
            guard try merge(isPatient: isPatient) else { return false }
            commits += 1
            let isCut = try writer.rewriteFirstPage(cuttingLog: cuttingLog)
            return pages == 1 && (isCut || !cuttingLog)
        } catch {
            guard error.code == .busy else { throw error }
            return false
        }
    }
}
