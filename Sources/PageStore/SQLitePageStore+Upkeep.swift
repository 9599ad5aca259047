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
            if isReadOnly { try Migrator.checkSchema(of: connection) }
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
    /// as much free space as the rows of the old one take, and at least 2 MiB for a log. No other process may have the
    /// store open. A process that is killed during the repair leaves either the old store or the new one.
    /// - Returns: the findings, the repairs, and the damage that remains. If any remains, set the store aside.
    /// - Throws: `StorageError`, as every write does. Throws `busy` when a new file is needed and another process has
    ///   the store open; this store is then closed. Throws `full` when the disk has no room for a new file; the message
    ///   has the number of bytes, and this store is then closed, too.
    public func repair() async throws(StorageError) -> RepairReport {
        let ending = try await withWriter { session throws(StorageError) in
            defer { session.connection.timeLimit = options.timeLimit }
            return try Repair.run(in: session, at: now)
        }
        switch ending {
        case .repaired(let report):
            return report
        case .needsNewFile(let found):
            pool.close()
            await writer.close()
            place.withLock { $0 = nil }
            let (path, options, clock) = (path, options, clock)
            return try await upkeep.run { () throws(StorageError) in try Salvage.run(path, found, options, clock) }
        }
    }

    /// Returns whether SQLite can read every page of the file that holds keys of rows. Reads each such page once, and
    /// no items.
    /// - Throws: `StorageError`, as every read does. An unreadable page makes the result false, and is not thrown.
    public func isReadable() async throws(StorageError) -> Bool {
        try await read { reading throws(StorageError) in try StoreTrees.areReadable(in: reading.connection) }
    }

    /// Repairs the header of a store's file, so that the store can be opened and ``repair()`` can save its rows.
    ///
    /// Restores the format numbers. Restores the application id and the schema number where the tables prove them.
    /// Writes the actual number of pages into the header of a truncated file. No process may have the store open.
    /// - Parameter path: the path of the store.
    /// - Returns: the problems that were found and repaired. Empty if nothing was changed.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `notAStore`, `strayFile`, `busy`, `permission`,
    ///   `inputOutput`, or `damaged` for a header that cannot be repaired.
    public static func repairHeader(at path: String) throws(StorageError) -> [Finding] {
        let file = try StoreFile.locate(path)
        try StoreFile.checkCompanions(of: file)
        var problems = try StoreHeader.repair(file)
        if try ShortFile.correctPageCount(file) { problems.append("the file \(file) is shorter than its header says") }
        return problems.map { Finding(.file, $0) }
    }

    /// Returns whether ``repairHeader(at:)`` would change the file, without changing it. Returns true if that is not
    /// known, for example while this process has the file open.
    package static func hasRepairableHeader(_ path: String) -> Bool {
        do throws(StorageError) {
            let file = try StoreFile.locate(path)
            let inUse = StorageError(.busy, "\(file) is in use")
            if try StoreHeader.isDamaged(file, otherwise: inUse) { return true }
            return try ShortFile.isShort(file, otherwise: inUse)
        } catch {
            // `repairHeader` cannot repair a file whose header is damaged in another way.
            return error.code != .damaged
        }
    }

    /// Copies the readable rows of a store with a changed schema to a new file. ``repair()`` does the same for a store
    /// with rows that cannot be read. The old file is kept as `….corrupt-<time>`. No process may have the store open.
    /// - Parameters:
    ///   - path: the path of the store.
    ///   - change: the change, see `SchemaChange.isSalvageable`.
    /// - Throws: `StorageError`, as ``repair()`` does. Throws `damaged`, and leaves the file as it is, when the rows
    ///   cannot be copied.
    package static func salvage(
        at path: String, from change: SchemaChange, options: Options = Options(),
        clock: any StorageClock = SystemStorageClock()
    ) async throws(StorageError) -> RepairReport {
        let file = try StoreFile.locate(path)
        try StoreFile.checkCompanions(of: file)
        let place = try OpenStore(file) { () throws(StorageError) in
            guard try StoreFile.kind(of: file) == .store else {
                throw StorageError(.notFound, "\(file) is an empty file")
            }
            try LogOwner.check(file)
        }
        defer { withExtendedLifetime(place) {} }
        var found = VerifyReport()
        found.findings = [Finding(.file, "the file \(change.words)")]
        let report = found
        return try await ReaderActor().run { () throws(StorageError) -> RepairReport in
            do throws(StorageError) {
                return try Salvage.run(file, report, options, clock, isSchemaChanged: true)
            } catch {
                // A statement does not fit the objects that have the names of this package's tables.
                guard error.code == .internal || error.isUnreadableRow else { throw error }
                throw StorageError(
                    .damaged, "\(file) \(change.words), and its rows cannot be copied: \(error.message)", cause: error)
            }
        }
    }

    /// Checks that no other program has changed the schema of the open store. A commit checks it anyway.
    /// - Throws: `StorageError`, as the next commit would. Throws nothing for a missing index.
    package func checkSchema() async throws(StorageError) {
        try await read { reading throws(StorageError) in
            do throws(StorageError) {
                try SchemaNumbers(of: reading.connection).check(reading.connection)
            } catch {
                guard let change = error.cause as? SchemaChange, change.isRepairable else { throw error }
            }
        }
    }

    /// Returns the problem in the file's header that makes SQLite refuse to write the store. Returns nil if there is
    /// none.
    /// - Throws: `StorageError`, as every read does.
    package func headerProblem() async throws(StorageError) -> String? {
        try await read { reading throws(StorageError) in StoreHeader.problem(of: reading.connection) }
    }

    /// The files that repairs and ``setAside(at:now:)`` have left next to the store, by name. They may hold data that
    /// was purged later.
    public var filesSetAside: [String] { Quarantine.setAside(of: path) }

    /// Returns whether a file is a damaged store: its header or its schema cannot be read, or ``verify()`` has
    /// findings.
    ///
    /// Undoes a change that a killed program has left in a rollback journal. Changes nothing else, and creates no file.
    /// - Throws: `notAStore` for another file, `newerSchema` for a store of a newer version, `strayFile` for an
    ///   obstacle next to the store, and `notFound` for a blank file; otherwise `StorageError`, as opening and reading
    ///   do.
    package static func isDamaged(at path: String) async throws(StorageError) -> Bool {
        let file = try StoreFile.locate(path)
        try StoreFile.checkCompanions(of: file)
        do throws(StorageError) {
            _ = try closedKind(of: file)
        } catch {
            switch error.code {
            case .damaged: return true
            // This process has the store open, and opening it has checked the file.
            case .busy: break
            default: throw error
            }
        }
        do throws(StorageError) {
            let store = try await openUnmigrated(at: path)
            do throws(StorageError) {
                let report = try await store.verify()
                await store.close()
                return !report.isSound
            } catch {
                await store.close()
                throw error
            }
        } catch {
            if error.cause as? NeedsWriter == .olderSchema { return try await isOlderFileDamaged(file) }
            // The header has the mark of this package, so another schema behind it is damage.
            guard [.damaged, .notAStore, .tookTooLong].contains(error.code) else { throw error }
            // No data is damaged where an object of another program can be removed.
            if error.cause is EarlierBuild { throw error }
            if let change = error.cause as? SchemaChange, !change.isSalvageable { throw error }
            return true
        }
    }

    /// Opens a store for reading only. Undoes a change that a killed program has left in a rollback journal, and keeps
    /// an older schema.
    private static func openUnmigrated(at path: String) async throws(StorageError) -> SQLitePageStore {
        do throws(StorageError) {
            return try await open(at: path, mode: .readOnly)
        } catch {
            guard error.cause as? NeedsWriter == .hotJournal else { throw error }
            return try await openForReading(at: path)
        }
    }

    /// Returns whether the file of a store of an older schema is damaged. A damaged file may prevent its migration, so
    /// this check needs none.
    private static func isOlderFileDamaged(_ file: String) async throws(StorageError) -> Bool {
        let place = try OpenStore(file) {}
        return try await ReaderActor().run { () throws(StorageError) in
            let connection = try StoreOpening.openReader(
                file, place.identity, isReadOnly: true, options: Options(), takesOlder: true)
            connection.timeLimit = nil
            return try connection.transaction(.read) { () throws(StorageError) in
                !Verification.run(in: connection, isOlder: true).report.isSound
            }
        }
    }

    /// Returns whether a file has the mark of a store in its header. Always true for a store that this process has
    /// open.
    package static func hasMark(_ path: String) -> Bool {
        do throws(StorageError) {
            return try closedKind(of: try StoreFile.locate(path)) == .store
        } catch {
            return error.code == .busy
        }
    }

    /// Returns the kind of a file. Throws `busy` if this process has the file open.
    private static func closedKind(of file: String) throws(StorageError) -> StoreFile.Kind {
        try OpenStores.whileClosed(file, otherwise: StorageError(.busy, "\(file) is in use")) {
            () throws(StorageError) in
            try StoreFile.kind(of: file)
        }
    }

    /// Returns the report that ``repair()`` would return, from the findings alone. Changes nothing.
    ///
    /// A repaired row can reveal further damage, so the numbers are lower bounds. They are zero where the rows must be
    /// copied to a new file, because only the copy shows which rows are readable.
    package func repairPreview() async throws(StorageError) -> RepairReport {
        let (path, identity, options, isReadOnly) = (path, identity, options, isReadOnly)
        return try await upkeep.run { () throws(StorageError) in
            let connection = try StoreOpening.openReader(path, identity, isReadOnly: isReadOnly, options: options)
            connection.timeLimit = nil
            if isReadOnly { try Migrator.checkSchema(of: connection) }
            let found = try connection.transaction(.read) { () throws(StorageError) in
                Verification.run(in: connection)
            }
            var report = RepairReport(found: found.report, remaining: VerifyReport())
            guard !found.damage.isTreeDamaged else {
                report.replacedFile = "\(path).corrupt-<time>"
                report.bytesNeeded = Salvage.bytesNeeded(by: connection)
                return report
            }
            found.damage.count(into: &report)
            return report
        }
    }

    /// Renames an unreadable store to `….corrupt-<time>`, so that the next opening creates a new one.
    ///
    /// No other public call renames a store that cannot be opened. No process may have the store open.
    /// - Parameters:
    ///   - path: the path of the store.
    ///   - now: the time for the new name.
    /// - Returns: the new path.
    /// - Throws: `StorageError` with `notFound`, `notAStore`, `busy`, `permission`, `cannotCreate` or `inputOutput`.
    public static func setAside(at path: String, now: Timestamp) throws(StorageError) -> String {
        try Quarantine.setAside(try StoreFile.locate(path), at: now)
    }
}
