public import PageModel

/// Looking after a store: is it sound, and if not, what then.
extension PageStore {
    /// Reads everything there is and checks it: SQLite's own structure, every seal and checksum, every rule of the
    /// tables (R5). Changes nothing, and keeps nobody waiting; takes as long as reading the file takes.
    /// - Throws: `StorageError`, as every reading does; what is damaged is a finding, and not thrown.
    public func verify() async throws(StorageError) -> VerifyReport {
        let (path, options, isReadOnly) = (path, options, isReadOnly)
        return try await upkeep.run { () throws(StorageError) in
            // A connection of its own: nobody else has to wait, and it may take its time.
            let connection = try StoreOpening.openReader(path, isReadOnly: isReadOnly, options: options)
            connection.timeLimit = nil
            return try connection.transaction(.read) { () throws(StorageError) in
                Verification.run(in: connection).report
            }
        }
    }

    /// Drops what is damaged, makes anew what can be made from what is whole, and queues what is missing now. Writers
    /// wait as long as it takes.
    /// - Returns: what was found, what was done, and what is still wrong: if anything is, set the store aside.
    /// - Throws: `StorageError`, as every writing does.
    public func repair() async throws(StorageError) -> RepairReport {
        try await withWriter { session throws(StorageError) in
            defer { session.connection.timeLimit = options.timeLimit }
            return try Repair.run(in: session, at: clock.now())
        }
    }

    /// Renames a store that cannot be read to `….corrupt-<time>`, so that the next opening makes a new one. Only when
    /// asked: nothing else ever does this. No process may have it open.
    /// - Returns: the name it has now.
    /// - Throws: `StorageError` with `notFound`, `busy`, `permission`, `cannotCreate` or `inputOutput`.
    public static func setAside(at path: String, now: Timestamp) throws(StorageError) -> String {
        try Quarantine.setAside(try StoreFile.locate(path), at: now)
    }
}
