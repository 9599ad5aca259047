public import PageModel

// Without protection, a file could be replaced between finding and locking it. `StoreGate` prevents that.
extension SQLitePageStore {
    /// Opens the store at `path`.
    ///
    /// A file that is not a store, or a store of a newer version, is refused and left untouched (R8).
    /// - Parameters:
    ///   - path: the path of the store. A symbolic link is followed if it belongs to the user of this process. A link
    ///     among the directories is also followed if it belongs to root (R9). The resolved path may have at most 504
    ///     bytes, and the name of the file at most 247.
    ///   - mode: the action when there is no store. Defaults to creating one.
    ///   - options: the settings. Defaults to `Options()`.
    ///   - clock: the source of every stored time and of the ends of leases (R52). Defaults to the system's clock.
    ///   - stamps: the generator of version stamps (R51). Defaults to the system's random numbers.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `danglingLink`, `permission`, `notAStore`,
    ///   `newerSchema`, `strayFile`, `foreignLog`, `moved`, `damaged`, `inputOutput`, `full` or `busy`.
    public static func open(
        at path: String, mode: Mode = .createIfMissing, options: Options = Options(),
        clock: any StorageClock = SystemStorageClock(),
        stamps: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) async throws(StorageError) -> SQLitePageStore {
        let file = mode == .createIfMissing ? try StoreFile.place(path) : try StoreFile.locate(path)
        try StoreFile.checkCompanions(of: file)
        var attempts = 3
        var options = options
        while true {
            do throws(StorageError) {
                return try await open(file: file, from: path, mode, options, clock, stamps)
            } catch {
                if error.code == .full, options.fileSystem == nil {
                    // The disk may have room for everything except the shared memory.
                    options.fileSystem = StoreFile.exclusiveFileSystem
                    options.isAlone = true
                    continue
                }
                // Another process has replaced the file. The new file is opened instead.
                attempts -= 1
                guard error.code == .moved, attempts > 0 else { throw error }
            }
        }
    }

    /// Opens the store at `path` for reading only. Before that, migrates a store of an older schema (R8), and undoes a
    /// change that a killed program has left in a rollback journal. Both write to the file.
    /// - Throws: `StorageError`, as `open` does. If the migration or the undoing fails, the error has the code of that
    ///   failure, such as `full`, `permission`, `busy` or `damaged`.
    package static func openForReading(
        at path: String, options: Options = Options()
    ) async throws(StorageError) -> SQLitePageStore {
        let need: NeedsWriter
        do throws(StorageError) {
            return try await open(at: path, mode: .readOnly, options: options)
        } catch {
            guard let cause = error.cause as? NeedsWriter else { throw error }
            need = cause
        }
        let writer: SQLitePageStore
        do throws(StorageError) {
            writer = try await open(at: path, mode: .mustExist, options: options)
        } catch {
            let problem =
                switch need {
                case .olderSchema: "has an older schema, and cannot be brought up to date"
                case .hotJournal: "has an unfinished change of another program, which cannot be undone"
                }
            throw StorageError(error.code, "\(path) \(problem): \(error.message)", cause: error.cause ?? error)
        }
        await writer.close()
        return try await open(at: path, mode: .readOnly, options: options)
    }

    private static func open(
        file: String, from path: String, _ mode: Mode, _ options: Options, _ clock: any StorageClock,
        _ stamps: any RandomNumberGenerator & Sendable
    ) async throws(StorageError) -> SQLitePageStore {
        // This check also applies when this process has the file open under its other name.
        try StoreFile.checkName(of: file)
        // The gate keeps the file from being replaced until SQLite holds its own locks.
        var gate = mode == .createIfMissing ? try await make(file, options) : nil
        // A file that is not a store is refused here, before other files are created next to it and before SQLite opens
        // it.
        var hasRoom = true
        let place = try OpenStore(file) { () throws(StorageError) in
            hasRoom = StoreFile.hasRoomForSharedMemory(file)
            guard try StoreFile.kind(of: file) == .blank else { return try LogOwner.check(file) }
            guard mode != .readOnly else { throw StorageError(.notFound, "\(file) is an empty file") }
            StoreFile.makePrivate(file)
        }
        if gate == nil, let made = StoreGate(file, makingFile: mode != .readOnly) {
            try await waiting(options.busyBudget, for: made) { made.lock(.shared) }
            gate = made
        }
        defer { withExtendedLifetime(gate) {} }
        guard FileIdentity(file) == place.identity else { throw .moved(file) }
        // Files that cannot be removed do no harm here. A repair reports them.
        if gate != nil, mode != .readOnly { try? Salvage.removeLeftovers(of: file) }
        var options = options
        // Without shared memory only this process can use the store
        // (https://www.sqlite.org/vfs.html#standard_unix_vfses).
        if options.fileSystem == nil, !hasRoom { options.fileSystem = StoreFile.exclusiveFileSystem }
        // A merge needs room for the log and for the growing file at the same time.
        options.checkpointBytes = min(options.checkpointBytes, max(StoreFile.room(beside: file) / 4, 64 << 10))
        let store = SQLitePageStore(
            path: file, from: path, isReadOnly: mode == .readOnly, options: options, clock: clock, place: place)
        if mode == .readOnly {
            // The first read opens a connection, which checks the file.
            try await store.read { _ throws(StorageError) in }
        } else {
            try await store.openWriter(stamps)
        }
        return store
    }

    /// Creates the file if it does not exist.
    /// - Returns: the gate, locked shared. `nil` where the file existed, or no gate could be opened.
    private static func make(_ file: String, _ options: Options) async throws(StorageError) -> StoreGate? {
        guard !StoreFile.exists(file) else { return nil }
        guard let gate = StoreGate(file, makingFile: true) else {
            try StoreFile.make(file)
            return nil
        }
        // Only one process creates the file. The others wait until it exists.
        try await waiting(options.busyBudget, for: gate) { StoreFile.exists(file) || gate.lock(.exclusive) }
        try StoreFile.make(file)
        try await waiting(options.busyBudget, for: gate) { gate.lock(.shared) }
        return gate
    }

    /// Repeats `attempt` every two milliseconds until it succeeds. Throws `busy` when the budget is spent or the task
    /// is cancelled.
    private static func waiting(_ budget: Duration, for gate: StoreGate, _ attempt: () -> Bool)
        async throws(StorageError)
    {
        let deadline = ContinuousClock.now + budget
        var isFirst = true
        while !attempt() {
            guard ContinuousClock.now < deadline else { throw gate.isTaken }
            LockWaits.note(isFirst: isFirst)
            isFirst = false
            do { try await Task.sleep(for: .milliseconds(2)) } catch { throw gate.isTaken }
        }
    }

    private func openWriter(_ stamps: any RandomNumberGenerator & Sendable) async throws(StorageError) {
        let (path, identity, options, accesses, announcer, clock) = (
            path, identity, options, accesses, announcer, clock
        )
        try await writer.open { () throws(StorageError) in
            let connection = try StoreOpening.openWriter(
                path, identity, options: options, now: StorageMoment(clock).now)
            connection.turns = WriteTurns(store: path)
            let session = try Session(
                connection: connection, accesses: accesses, clock: clock, mergeBytes: options.checkpointBytes,
                journalBound: options.journal, stamps: stamps,
                openLocker: { () throws(StorageError) in try StoreOpening.openLocker(path, identity, options: options)
                },
                announce: { announcer.announce($0) })
            session.resumePurges()
            return session
        }
    }
}
