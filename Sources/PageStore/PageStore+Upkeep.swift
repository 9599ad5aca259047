public import PageModel
import Synchronization

/// Looking after a store: is it sound, and if not, what then.
extension PageStore {
    /// Reads everything there is and checks it: SQLite's own structure, every seal and checksum, every rule of the
    /// tables (R5). Changes nothing, and keeps nobody waiting; takes as long as reading the file takes.
    /// - Throws: `StorageError`, as every reading does; what is damaged is a finding, and not thrown.
    public func verify() async throws(StorageError) -> VerifyReport {
        let (path, identity, options, isReadOnly) = (path, identity, options, isReadOnly)
        return try await upkeep.run { () throws(StorageError) in
            // A connection of its own: nobody else has to wait, and it may take its time.
            let connection = try StoreOpening.openReader(path, identity, isReadOnly: isReadOnly, options: options)
            connection.timeLimit = nil
            return try connection.transaction(.read) { () throws(StorageError) in
                Verification.run(in: connection).report
            }
        }
    }

    /// Drops what is damaged, makes anew what can be made from what is whole, and queues what is missing now. Writers
    /// wait as long as it takes.
    ///
    /// Where rows cannot be read at all, the readable ones are written to a new file. The new file takes the place of
    /// the old one, which is kept as `….corrupt-<time>` (``RepairReport/replacedFile``), and this store is closed. That
    /// needs twice the space of the file, and the store for itself. A process that is killed meanwhile leaves the old
    /// store or the new one.
    /// - Returns: what was found, what was done, and what is still wrong: if anything is, set the store aside.
    /// - Throws: `StorageError`, as every writing does; `busy` when a new file is needed and another process has the
    ///   store open, and then this store is closed.
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

    /// Whether every page of the file that holds rows can be read. Reads each of them once, and no item.
    /// - Throws: `StorageError`, as every reading does; what cannot be read is the answer, and not thrown.
    public func isReadable() async throws(StorageError) -> Bool {
        try await read { reading throws(StorageError) in try StoreTrees.areReadable(in: reading.connection) }
    }

    /// Makes a store whose file was cut off one that can be opened, so that ``repair()`` can save what is left. Changes
    /// four bytes of its header. No process may have it open.
    /// - Returns: whether the file was too short. Otherwise nothing was changed.
    /// - Throws: `StorageError` with `notFound`, `notAStore`, `busy`, `permission` or `inputOutput`.
    public static func admitShortFile(at path: String) throws(StorageError) -> Bool {
        try ShortFile.admit(try StoreFile.locate(path))
    }

    /// The files beside the store that a repair, or ``setAside(at:now:)``, has left. They may hold what was purged
    /// since.
    public var filesSetAside: [String] { Quarantine.setAside(of: path) }

    /// Renames a store that cannot be read to `….corrupt-<time>`, so that the next opening makes a new one. Only when
    /// asked: nothing else ever does this. No process may have it open.
    /// - Returns: the name it has now.
    /// - Throws: `StorageError` with `notFound`, `busy`, `permission`, `cannotCreate` or `inputOutput`.
    public static func setAside(at path: String, now: Timestamp) throws(StorageError) -> String {
        try Quarantine.setAside(try StoreFile.locate(path), at: now)
    }
}
