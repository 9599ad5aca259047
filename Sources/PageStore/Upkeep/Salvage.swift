#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import CSQLite
import PageModel

/// Replaces a store with damaged b-trees or a changed schema by a new file with every readable row.
///
/// The old file is locked in SQLite's exclusive mode, so no other connection can have it open
/// (https://www.sqlite.org/pragma.html#pragma_locking_mode). The log of the old file is merged first, because SQLite
/// finds a log by the name of its store. One `rename` replaces the file. A process that is killed therefore leaves the
/// old store or the new one.
///
/// The old file gets its second name just before the rename, so that the repair needs no room for a copy of the file. A
/// process that is killed in between leaves a store with two names, see `removeLeftovers(of:)`.
enum Salvage {
    /// Replaces the store at `path` by a new file with its readable rows.
    /// - Parameter isSchemaChanged: whether tables of the old file have another form than the statements of this
    ///   package need. Defaults to false.
    static func run(
        _ path: String, _ found: VerifyReport, _ options: SQLitePageStore.Options, _ clock: any StorageClock,
        isSchemaChanged: Bool = false
    ) throws(StorageError) -> RepairReport {
        let now = StorageMoment(clock).now
        let gate = StoreGate(path, makingFile: true)
        try gate?.lockExclusively(budget: options.busyBudget)
        defer { withExtendedLifetime(gate) {} }
        // This entry keeps other code of this process from closing a descriptor of the file, which would drop its
        // locks.
        let place = try OpenStore(path) {}
        defer { withExtendedLifetime(place) {} }
        let old = try lockedConnection(path, options)
        // This descriptor is closed last, because closing it drops the locks, too.
        let original = try FileCopy(path)
        defer { withExtendedLifetime(original) {} }
        try removeLeftovers(of: path)
        let target = try Quarantine.freeName(for: path, at: now)
        let fresh = path + freshSuffix
        let needed = bytesNeeded(by: old)
        try checkRoom(needed, free: StoreFile.room(beside: path), for: path)
        var report: RepairReport
        do throws(StorageError) {
            report = try fill(fresh, from: old, found, options, clock, isSchemaChanged: isSchemaChanged)
            try FileCopy.sync(fresh)
            try keep(original, of: path, as: target)
        } catch {
            for name in [fresh, path + copySuffix] { try? StoreFile.clear(name) }
            guard error.code == .full else { throw error }
            throw shortage(of: needed, for: path, ": \(error.message)", cause: error)
        }
        do throws(StorageError) {
            try move(fresh, to: path)
        } catch {
            unlink(target)
            try? StoreFile.clear(fresh)
            throw error
        }
        do throws(StorageError) {
            try StoreFile.syncDirectory(of: path)
        } catch {
            throw StorageError(
                .inputOutput,
                "\(path) is repaired, and \(target) is the old file; a power loss may undo that: \(error.message)",
                cause: error)
        }
        report.replacedFile = target
        return report
    }

    // MARK: Room

    /// Returns the free bytes that a new file needs, with its log. A repair in place needs no more for its log. A file
    /// system without hard links needs as many bytes again as the old file has.
    static func bytesNeeded(by old: Connection) -> Int {
        let size = StoreFile.size(old.path)
        let used = try? (old.pragma("page_count") - old.pragma("freelist_count")) * old.pragma("page_size")
        let largest = try? old.number(largestPage)
        let portion = SalvagedRows.mostBytesAtOnce + min(max(0, Int(clamping: largest ?? 0)), size)
        return min(max(0, Int(clamping: used ?? Int64(size))), size) + 2 * portion
    }

    private static let largestPage = SQL("SELECT max(bytes) FROM main.page")

    /// Checks the room before anything is written, so that a repair that cannot succeed does not fill the disk.
    /// - Throws: `full`, with the number of bytes that the new file needs.
    static func checkRoom(_ needed: Int, free: Int, for path: String) throws(StorageError) {
        guard free < needed else { return }
        throw shortage(of: needed, for: path, ", and \(free / 1_000_000) MB are free", cause: nil)
    }

    static func shortage(of needed: Int, for path: String, _ details: String, cause: StorageError?) -> StorageError {
        StorageError(
            .full, "a repair of \(path) needs \(megabytes(needed)) of free space for a copy of its rows\(details)",
            cause: cause)
    }

    static func megabytes(_ bytes: Int) -> String { "\((bytes + 999_999) / 1_000_000) MB" }

    // MARK: Files

    /// Gives the old file the name under which it is kept. Where the file system has no hard links, a copy gets that
    /// name.
    private static func keep(
        _ original: borrowing FileCopy, of path: String, as target: String
    ) throws(StorageError) {
        if link(path, target) != 0 {
            try original.write(to: path + copySuffix)
            try move(path + copySuffix, to: target)
        }
        do throws(StorageError) {
            // The second name is on the disk before the rename, so that a power loss does not lose the old file.
            try StoreFile.syncDirectory(of: path)
        } catch {
            unlink(target)
            throw error
        }
    }

    /// Removes what a killed repair has left: the second name of the store's file, and the unfinished new file. Also
    /// removes the second names of the log and the journal, which a killed call of `setAside` has left.
    ///
    /// A name is removed only while it leads to the store's own file, so the store keeps its data. Call while holding
    /// the store's gate. No repair is running then, and none gives the file a name.
    /// - Throws: `inputOutput` when an unfinished file cannot be removed.
    static func removeLeftovers(of path: String) throws(StorageError) {
        for suffix in ["", "-wal", "-journal"] where suffix.isEmpty || !StoreFile.isOfStoreSetAside(path, suffix) {
            for name in StoreFile.secondNames(of: path, suffix) { unlink(name) }
        }
        for name in [path + freshSuffix, path + copySuffix] { try StoreFile.clear(name) }
    }

    private static let copySuffix = ".repair-old"
    private static let freshSuffix = ".repair-new"

    private static func lockedConnection(_ path: String, _ options: SQLitePageStore.Options) throws(StorageError)
        -> Connection
    {
        let connection = try Connection(path: path, fileSystem: options.fileSystem)
        do throws(StorageError) {
            try StoreOpening.harden(connection, options)
            connection.timeLimit = nil
            // Closing must not remove the log by its name, which may belong to the new store by then.
            try connection.configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            _ = try connection.pragma("user_version")
            guard try connection.truncateLog() else {
                throw StorageError(.busy, "the log of \(path) cannot be merged")
            }
            return connection
        } catch {
            guard error.code == .busy else { throw error }
            throw StorageError(
                .busy,
                "\(path) is open elsewhere; its readable rows can go to a new file only while nothing else has it open",
                cause: error)
        }
    }

    private static func fill(
        _ fresh: String, from old: Connection, _ found: VerifyReport, _ options: SQLitePageStore.Options,
        _ clock: any StorageClock, isSchemaChanged: Bool
    ) throws(StorageError) -> RepairReport {
        let now = StorageMoment(clock).now
        try StoreFile.make(fresh)
        guard let identity = FileIdentity(fresh) else { throw .moved(fresh) }
        let connection = try StoreOpening.openWriter(fresh, identity, options: options, now: now)
        connection.timeLimit = nil
        if isSchemaChanged { try ExpectedTables.present(as: connection, in: old) }
        var rows = SalvagedRows(from: old, to: connection, at: now)
        try rows.copyAll()
        let session = try Session(
            connection: connection, accesses: AccessLog(openedAt: now), clock: clock, mergeBytes: .max,
            journalBound: options.journal, stamps: SystemRandomNumberGenerator(),
            openLocker: { () throws(StorageError) in
                throw StorageError(.internal, "the log is not merged during a repair")
            },
            notesLog: false, announce: { _ in })
        guard case .repaired(var report) = try Repair.run(in: session, incomplete: rows.incomplete, at: now) else {
            throw StorageError(.damaged, "the readable part of \(old.path) is not a sound store")
        }
        guard try connection.truncateLog() else { throw StorageError(.busy, "\(fresh) is open elsewhere") }
        let read = report.found
        report.found = found
        if isSchemaChanged {
            // The old file was not verified, so the report counts the copied and the lost rows as checked. A dropped
            // page counts, but its items do not.
            report.found.queries = read.queries + rows.queriesLost
            report.found.pages = read.pages + rows.pagesLost
            (report.found.items, report.found.bytes) = (report.remaining.items, report.remaining.bytes)
        }
        report.pagesDropped += rows.pagesLost
        report.queriesDropped += rows.queriesLost
        report.removed += rows.removed
        report.pinsLost = rows.pinsLost
        return report
    }

    private static func move(_ source: String, to target: String) throws(StorageError) {
        guard rename(source, target) == 0 else {
            throw StorageError(.inputOutput, "cannot rename \(source): \(String(cString: strerror(errno)))")
        }
    }
}
