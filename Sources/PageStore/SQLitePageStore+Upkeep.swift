public import PageModel
import Synchronization

/// Verifies and repairs a store.
extension SQLitePageStore {
    /// Reads the whole store and checks it: SQLite's own structure, every seal and checksum, and every rule of the
    /// tables (R5).
    ///
    /// Changes nothing, and blocks neither reads nor writes. Takes as long as reading the file.
    /// - Returns: the findings. Damage is a finding, and is not thrown.
    /// - Throws: `StorageError`, as every read does.
    public func verify() async throws(StorageError) -> VerifyReport {
        let (path, identity, options, isReadOnly) = (path, identity, options, isReadOnly)
        return try await upkeep.run { () throws(StorageError) in
            // A connection of its own blocks no other reader, and needs no time limit.
            let connection = try StoreOpening.openReader(path, identity, isReadOnly: isReadOnly, options: options)
            connection.timeLimit = nil
            return try connection.transaction(.read) { () throws(StorageError) in
                Verification.run(in: connection).report
            }
        }
    }

    /// Drops damaged rows, rebuilds rows that intact ones determine, and queues the missing pages to be fetched.
    /// Writers wait until the repair has ended.
    ///
    /// Where rows cannot be read at all, the readable rows are written to a new file. That file replaces the old one,
    /// which is kept as `….corrupt-<time>` (`RepairReport.replacedFile`), and this store is closed. A new file needs
    /// twice the space of the old one, and no other process may have the store open. A process that is killed during
    /// the repair leaves either the old store or the new one.
    /// - Returns: the findings, the repairs, and the damage that remains. If any remains, set the store aside.
    /// - Throws: `StorageError`, as every writing does. Throws `busy` when a new file is needed and another process has
    ///   the store open; this store is then closed.
    public func repair() async throws(StorageError) -> RepairReport {
        let ending = try await withWriter { session throws(StorageError) in
            defer { session.connection.timeLimit = options.timeLimit }
            return try Repair.run(in: session, at: now)
        }
        switch ending {
        case .mended(let report):
            return report
        case .needsNewFile(let found):
            pool.close()
            await writer.close()
            place.withLock { $0 = nil }
            let (path, options, clock) = (path, options, clock)
            return try await upkeep.run { () throws(StorageError) in try Salvage.run(path, found, options, clock) }
        }
    }

    /// Returns whether every page of the file with rows can be read. Reads each of them once, and no items.
    /// - Throws: `StorageError`, as every read does. An unreadable page makes the result false, and is not thrown.
    public func isReadable() async throws(StorageError) -> Bool {
        try await read { reading throws(StorageError) in try StoreTrees.areReadable(in: reading.connection) }
    }

    /// Makes a store with a truncated file openable, so that ``repair()`` can save the remaining rows.
    ///
    /// Changes four bytes of the file's header. No process may have the store open.
    /// - Parameter path: the path of the store.
    /// - Returns: whether the file was too short. Otherwise nothing was changed.
    /// - Throws: `StorageError` with `notFound`, `notAStore`, `busy`, `permission` or `inputOutput`.
    public static func admitShortFile(at path: String) throws(StorageError) -> Bool {
        try ShortFile.admit(try StoreFile.locate(path))
    }

    /// The files that repairs and ``setAside(at:now:)`` have left next to the store, by name. They may hold data that
    /// was purged later.
    public var filesSetAside: [String] { Quarantine.setAside(of: path) }

    /// Renames an unreadable store to `….corrupt-<time>`, so that the next opening creates a new one.
    ///
    /// Only this call renames a store that cannot be opened. No process may have the store open.
    /// - Parameters:
    ///   - path: the path of the store.
    ///   - now: the time for the new name.
    /// - Returns: the new path.
    /// - Throws: `StorageError` with `notFound`, `notAStore`, `busy`, `permission`, `cannotCreate` or `inputOutput`.
    public static func setAside(at path: String, now: Timestamp) throws(StorageError) -> String {
        try Quarantine.setAside(try StoreFile.locate(path), at: now)
    }
}
