import CSQLite

/// The methods of a database and of its log, as SQLite calls them (https://www.sqlite.org/c3ref/io_methods.html).
///
/// The lock for writing is the database's, so that is where a transaction begins and ends. Before others can see a transaction, SQLite
/// passes a barrier: by then all of it is in the log, whatever was taken for its last frame.
enum GatheringFile {
    typealias File = UnsafeMutablePointer<pagecache_file>
    private typealias Methods = UnsafeMutablePointer<sqlite3_io_methods>

    static func at(_ file: UnsafeMutablePointer<sqlite3_file>?) -> File {
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: pagecache_file.self)
    }

    /// Gives a log its gatherer, and shows it to its database.
    static func tie(_ log: File, to database: File) {
        let gatherer = UnsafeMutablePointer<FrameGatherer>.allocate(capacity: 1)
        gatherer.initialize(to: FrameGatherer(log.pointee.below))
        log.pointee.gatherer = UnsafeMutableRawPointer(gatherer)
        log.pointee.partner = database
        database.pointee.partner = log
    }

    private static func gatherer(_ log: File) -> UnsafeMutablePointer<FrameGatherer> {
        log.pointee.gatherer.assumingMemoryBound(to: FrameGatherer.self)
    }

    /// What a database's log holds back.
    private static func gatherer(of database: File) -> UnsafeMutablePointer<FrameGatherer>? {
        database.pointee.partner.map { gatherer($0) }
    }

    private static func methods(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafePointer<sqlite3_io_methods> { file.pointee.pMethods }

    // MARK: The log

    // Written once, when it is first needed, and only read from then on.
    nonisolated(unsafe) static let logMethods: UnsafePointer<sqlite3_io_methods> = {
        let made = passing(version: 1)
        made.pointee.xClose = { file in
            let log = GatheringFile.at(file)
            let gatherer = GatheringFile.gatherer(log)
            gatherer.pointee.discard()
            gatherer.deinitialize(count: 1).deallocate()
            log.pointee.partner.pointee.partner = nil
            return GatheringFile.close(file)
        }
        made.pointee.xRead = { GatheringFile.gatherer(GatheringFile.at($0)).pointee.read($1!, $2, at: $3) }
        made.pointee.xWrite = { GatheringFile.gatherer(GatheringFile.at($0)).pointee.write($1!, $2, at: $3) }
        made.pointee.xTruncate = { file, size in GatheringFile.passFlushed(file) { $1.pointee.xTruncate($0, size) } }
        made.pointee.xSync = { file, flags in GatheringFile.passFlushed(file) { $1.pointee.xSync($0, flags) } }
        made.pointee.xFileSize = { file, size in GatheringFile.passFlushed(file) { $1.pointee.xFileSize($0, size) } }
        return UnsafePointer(made)
    }()

    /// Asks the log below, after what is held.
    private static func passFlushed(_ file: UnsafeMutablePointer<sqlite3_file>?, _ ask: Asking) -> Int32 {
        let code = gatherer(at(file)).pointee.flush()
        return code == SQLITE_OK ? pass(file, ask) : code
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        let code = pass(file) { $1.pointee.xClose($0) }
        file?.pointee.pMethods = nil
        return code
    }

    // MARK: The database

    /// As many methods as the file below has: SQLite takes a file whose version or whose methods end before the shared memory's for one
    /// that can have no log.
    static func databaseMethods(like below: sqlite3_io_methods) -> UnsafePointer<sqlite3_io_methods> {
        guard below.iVersion >= 2, below.xShmMap != nil else { return databaseMethods[0] }
        return databaseMethods[below.iVersion >= 3 && below.xFetch != nil ? 2 : 1]
    }

    /// Whether a file is a database that was opened by this VFS, and not by one on top of it.
    static func isDatabase(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Bool {
        file?.pointee.pMethods.map { databaseMethods.contains($0) } ?? false
    }

    nonisolated(unsafe) private static let databaseMethods: [UnsafePointer<sqlite3_io_methods>] = (1...3).map { version in
        let made = passing(version: Int32(version))
        addSharedMemory(to: made)
        made.pointee.xFetch = { file, offset, amount, bytes in GatheringFile.pass(file) { $1.pointee.xFetch($0, offset, amount, bytes) } }
        made.pointee.xUnfetch = { file, offset, bytes in GatheringFile.pass(file) { $1.pointee.xUnfetch($0, offset, bytes) } }
        return UnsafePointer(made)
    }

    private static func addSharedMemory(to made: Methods) {
        made.pointee.xShmMap = { file, page, size, extends, bytes in GatheringFile.pass(file) { $1.pointee.xShmMap($0, page, size, extends, bytes) } }
        made.pointee.xShmLock = { GatheringFile.lockShared($0, $1, $2, $3) }
        made.pointee.xShmBarrier = { file in
            let database = GatheringFile.at(file)
            // Where this writes something, it was no commit that was understood. What fails here cannot be told.
            _ = GatheringFile.gatherer(of: database)?.pointee.flush()
            GatheringFile.methods(database.pointee.below).pointee.xShmBarrier(database.pointee.below)
        }
        made.pointee.xShmUnmap = { file, deletes in GatheringFile.pass(file) { $1.pointee.xShmUnmap($0, deletes) } }
    }

    /// Lock 0 is the one for writing (https://www.sqlite.org/walformat.html#locks).
    private static func lockShared(_ file: UnsafeMutablePointer<sqlite3_file>?, _ first: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        let database = at(file)
        let below = database.pointee.below!
        let isForWriting = first == 0 && flags & SQLITE_SHM_EXCLUSIVE != 0
        if isForWriting, flags & SQLITE_SHM_UNLOCK != 0 { gatherer(of: database)?.pointee.transactionEnds() }
        let code = methods(below).pointee.xShmLock(below, first, count, flags)
        if isForWriting, flags & SQLITE_SHM_LOCK != 0, code == SQLITE_OK { gatherer(of: database)?.pointee.transactionBegan() }
        return code
    }

    // MARK: Both

    private typealias Asking = (UnsafeMutablePointer<sqlite3_file>, UnsafePointer<sqlite3_io_methods>) -> Int32

    /// Asks the file below.
    private static func pass(_ file: UnsafeMutablePointer<sqlite3_file>?, _ ask: Asking) -> Int32 {
        let below = at(file).pointee.below!
        return ask(below, methods(below))
    }

    /// A table of methods that pass on what is asked.
    private static func passing(version: Int32) -> Methods {
        let made = Methods.allocate(capacity: 1)
        made.initialize(to: sqlite3_io_methods())
        made.pointee.iVersion = version
        made.pointee.xClose = { GatheringFile.close($0) }
        made.pointee.xRead = { file, bytes, size, offset in GatheringFile.pass(file) { $1.pointee.xRead($0, bytes, size, offset) } }
        made.pointee.xWrite = { file, bytes, size, offset in GatheringFile.pass(file) { $1.pointee.xWrite($0, bytes, size, offset) } }
        made.pointee.xTruncate = { file, size in GatheringFile.pass(file) { $1.pointee.xTruncate($0, size) } }
        made.pointee.xSync = { file, flags in GatheringFile.pass(file) { $1.pointee.xSync($0, flags) } }
        made.pointee.xFileSize = { file, size in GatheringFile.pass(file) { $1.pointee.xFileSize($0, size) } }
        made.pointee.xLock = { file, level in GatheringFile.pass(file) { $1.pointee.xLock($0, level) } }
        made.pointee.xUnlock = { file, level in GatheringFile.pass(file) { $1.pointee.xUnlock($0, level) } }
        made.pointee.xCheckReservedLock = { file, result in GatheringFile.pass(file) { $1.pointee.xCheckReservedLock($0, result) } }
        made.pointee.xFileControl = { file, operation, argument in GatheringFile.pass(file) { $1.pointee.xFileControl($0, operation, argument) } }
        made.pointee.xSectorSize = { GatheringFile.pass($0) { $1.pointee.xSectorSize($0) } }
        made.pointee.xDeviceCharacteristics = { GatheringFile.pass($0) { $1.pointee.xDeviceCharacteristics($0) } }
        return made
    }
}
