public import PageModel

// Between looking for a file and holding a lock on it, the file can become another one: see `StoreGate`.
extension PageStore {
    /// Opens the store at `path`.
    ///
    /// A file that is not a store, or a store of a newer version, is refused and left untouched (R8).
    /// - Parameters:
    ///   - path: where the store is; a symbolic link of our own is followed (R9).
    ///   - mode: what to do when there is none. Default: make one.
    ///   - options: the settings. Default: the defaults.
    ///   - clock: what every stored time comes from, and what leases end by (R52). Defaults to the system's.
    ///   - stamps: draws the stamps of versions (R51). Default: the system's random numbers.
    /// - Throws: `StorageError` with `notFound`, `cannotCreate`, `permission`, `notAStore`, `newerSchema`, `damaged`,
    ///   `inputOutput`, `full` or `busy`.
    public static func open(
        at path: String, mode: Mode = .createIfMissing, options: Options = Options(),
        clock: any StorageClock = SystemStorageClock(),
        stamps: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) async throws(StorageError) -> PageStore {
        let file = mode == .createIfMissing ? try StoreFile.place(path) : try StoreFile.locate(path)
        try StoreFile.checkCompanions(of: file)
        var attempts = 3
        var options = options
        while true {
            do throws(StorageError) {
                return try await open(file: file, mode, options, clock, stamps)
            } catch {
                if error.code == .full, options.fileSystem == nil {
                    // There may be room for everything but the shared memory.
                    options.fileSystem = StoreFile.exclusiveFileSystem
                    continue
                }
                // Another process replaced the file meanwhile: the new one is to be opened.
                attempts -= 1
                guard error.code == .moved, attempts > 0 else { throw error }
            }
        }
    }

    private static func open(
        file: String, _ mode: Mode, _ options: Options, _ clock: any StorageClock,
        _ stamps: any RandomNumberGenerator & Sendable
    ) async throws(StorageError) -> PageStore {
        // From here on the file is not replaced, until SQLite's own locks see to that.
        var gate = mode == .createIfMissing ? try await make(file, options) : nil
        // A file that is not ours is refused here, before anything is made beside it, and before SQLite touches it.
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
        var options = options
        // Without shared memory the store is this process's alone
        // (https://www.sqlite.org/vfs.html#standard_unix_vfses).
        if options.fileSystem == nil, !hasRoom { options.fileSystem = StoreFile.exclusiveFileSystem }
        // The log and the file need room at the same time.
        options.checkpointBytes = min(options.checkpointBytes, max(StoreFile.room(beside: file) / 4, 64 << 10))
        let store = PageStore(path: file, isReadOnly: mode == .readOnly, options: options, clock: clock, place: place)
        if mode == .readOnly {
            // The first reader checks the file.
            try await store.read { _ throws(StorageError) in }
        } else {
            try await store.openWriter(stamps)
        }
        return store
    }

    /// Makes the file where there is none.
    /// - Returns: the gate, shared; `nil` where there was a file.
    private static func make(_ file: String, _ options: Options) async throws(StorageError) -> StoreGate? {
        guard !StoreFile.exists(file) else { return nil }
        guard let gate = StoreGate(file, makingFile: true) else {
            try StoreFile.make(file)
            return nil
        }
        // The process that makes the file first lets the others continue.
        try await waiting(options.busyBudget, for: gate) { StoreFile.exists(file) || gate.lock(.exclusive) }
        try StoreFile.make(file)
        try await waiting(options.busyBudget, for: gate) { gate.lock(.shared) }
        return gate
    }

    /// Tries again every two milliseconds, and lets other tasks run meanwhile.
    private static func waiting(_ budget: Duration, for gate: StoreGate, _ attempt: () -> Bool)
        async throws(StorageError)
    {
        let deadline = ContinuousClock.now + budget
        while !attempt() {
            guard ContinuousClock.now < deadline else { throw gate.isTaken }
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
