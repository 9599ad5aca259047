#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import CSQLite
import PageModel

/// Replaces a store with damaged b-trees by a new file with every readable row.
///
/// The old file is locked in SQLite's exclusive mode, so no other connection can have it open
/// (https://www.sqlite.org/pragma.html#pragma_locking_mode). The log of the old file is merged first, because SQLite
/// finds a log by the name of its store. One `rename` replaces the file. A process that is killed therefore leaves the
/// old store or the new one.
enum Salvage {
    static func run(
        _ path: String, _ found: VerifyReport, _ options: SQLitePageStore.Options, _ clock: any StorageClock
    ) throws(StorageError) -> RepairReport {
        let now = StorageMoment(clock).now
        let gate = StoreGate(path, makingFile: true)
        try gate?.lockExclusively(budget: options.busyBudget)
        defer { withExtendedLifetime(gate) {} }
        // This entry keeps other code of this process from closing a descriptor of the file, which would drop its
        // locks.
        let place = try OpenStore(path) {}
        defer { withExtendedLifetime(place) {} }
        let target = try Quarantine.freeName(for: path, at: now)
        let old = try lockedConnection(path, options)
        // This descriptor is closed last, because closing it drops the locks, too.
        let original = try FileCopy(path)
        defer { withExtendedLifetime(original) {} }
        let fresh = path + freshSuffix
        for name in [fresh, path + copySuffix] { try StoreFile.clear(name) }
        var report: RepairReport
        do throws(StorageError) {
            try original.write(to: path + copySuffix)
            report = try fill(fresh, from: old, found, options, clock)
            try FileCopy.sync(fresh)
        } catch {
            for name in [fresh, path + copySuffix] { try? StoreFile.clear(name) }
            throw error
        }
        try move(path + copySuffix, to: target)
        try move(fresh, to: path)
        FileCopy.syncDirectory(of: path)
        report.replacedFile = target
        return report
    }

    /// A killed process may leave these two files. The next repair removes them.
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
        _ clock: any StorageClock
    ) throws(StorageError) -> RepairReport {
        let now = StorageMoment(clock).now
        try StoreFile.make(fresh)
        guard let identity = FileIdentity(fresh) else { throw .moved(fresh) }
        let connection = try StoreOpening.openWriter(fresh, identity, options: options, now: now)
        connection.timeLimit = nil
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
        report.found = found
        report.pagesDropped += rows.pagesLost
        report.queriesDropped += rows.queriesLost
        return report
    }

    private static func move(_ source: String, to target: String) throws(StorageError) {
        guard rename(source, target) == 0 else {
            throw StorageError(.inputOutput, "cannot rename \(source): \(String(cString: strerror(errno)))")
        }
    }
}
