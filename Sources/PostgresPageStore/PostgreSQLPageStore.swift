#if PostgreSQL
public import PageModel
import Synchronization

/// The PostgreSQL implementation of `PageStorage`: one store for many replicas of a program, on many machines.
///
/// Every commit locks the record of its list. Commits of one list therefore run one after the other, and commits of
/// different lists do not wait for each other. The connection may lead through a pooler in transaction mode, because
/// transactions keep no state in a session. Where the server delivers notices, a change by another replica is usually
/// noticed within milliseconds. Otherwise it is noticed within the poll interval.
public final class PostgreSQLPageStore: PageStorage {
    /// The display name of the store: host, database and schema, without a user or a password. If the connection string
    /// is not a URI, the name has the schema only.
    public let name: String

    let options: Options
    let server: Server
    let isReadOnly: Bool
    let accesses: ReadLog<ReadBody>
    let liveness: Liveness
    let announcer: ServerChangeNotifier
    /// The local copy. `nil` means that every read of items sends a request to the server.
    package let copy: CopiedPages?
    private let stamps: Mutex<any RandomNumberGenerator & Sendable>

    init(
        name: String, server: Server, isReadOnly: Bool, options: Options, accesses: ReadLog<ReadBody>,
        announcer: ServerChangeNotifier, liveness: Liveness, copy: CopiedPages?,
        stamps: any RandomNumberGenerator & Sendable
    ) {
        self.name = name
        self.server = server
        self.isReadOnly = isReadOnly
        self.options = options
        self.accesses = accesses
        self.announcer = announcer
        self.liveness = liveness
        self.copy = copy
        self.stamps = Mutex(stamps)
    }

    /// Ends the leases of this object and the streams of notices, and closes the connections. Later reads and writes
    /// throw `closed`.
    public func close() async {
        announcer.close()
        await copy?.close()
        await liveness.end()
        await server.close()
    }

    /// The clock that the caller passed. `nil` means the server's clock.
    package var callersClock: (any StorageClock)? { server.clock }

    /// A random number for a version (R51).
    func nextStamp() -> UInt64 { stamps.withLock { $0.next() } }

    func checkWritable() throws(StorageError) {
        guard !isReadOnly else { throw StorageError(.permission, "\(name) is open for reading only") }
    }
}

extension PostgreSQLPageStore {
    /// The behaviour of `open` when there is no store, and whether the store may be written.
    public enum Mode: Hashable, Sendable {
        /// Creates the schema and its tables when there is no store, and migrates a store of an older version.
        case createIfMissing
        /// Throws `StorageError.Code.notFound` when there is no store, or when its schema has an older version.
        case mustExist
        /// Throws `notFound` as `mustExist` does. Changes nothing, and every write throws `permission`.
        case readOnly
    }

    /// Settings of a store. The defaults suit most programs.
    public struct Options: Hashable, Sendable {
        /// The schema that holds the tables. Its name has 1 to 63 bytes of UTF-8. Defaults to `pagecache`.
        public var schema = "pagecache"
        /// The number of connections that calls share; 1 or more. Notices and heartbeats use one further connection
        /// each. Defaults to 4.
        public var connections = 4
        /// The longest time that a call that reads or writes a few rows waits for the server and for commits of other
        /// replicas. After that time the call throws `busy` or `unavailable` (R42). More than 0. Defaults to 5 seconds.
        public var busyBudget: Duration = .seconds(5)
        /// The longest time of a call that reads or writes a whole list or a whole store. More than 0. Defaults to 60
        /// seconds. Verification and repair may take a day.
        public var timeLimit: Duration = .seconds(60)
        /// The failures that a commit survives. Defaults to `normal`.
        public var durability: Durability = .normal
        /// The bound of the journal of each list's changes (R48). Defaults to 1 MiB per list. Entries younger than ten
        /// minutes are kept beyond the bound, unless a single commit exceeds it.
        public var journal = JournalBound()
        /// The time after its last heartbeat at which the leases of a replica become void. The replica sends a
        /// heartbeat three times in this period. 3 seconds or more. Defaults to 30 seconds.
        public var ownerLease: Duration = .seconds(30)
        /// The longest time until changes of other replicas are noticed where the server delivers no notices. Where the
        /// server delivers notices, a change whose notice was lost is noticed within ten poll intervals. 10
        /// milliseconds or more. Defaults to 1 second.
        public var pollInterval: Duration = .seconds(1)

        /// A copy of the pages that were read, in a file on this machine. Defaults to `nil`: every read of items sends
        /// a request to the server.
        public var localCopy: LocalCopy?

        /// Whether opening the store waits until notices of other replicas can arrive, for a tenth of the busy budget
        /// at most. If false, the store begins to listen when the first observer needs notices. That observer is
        /// notified to read its lists again once notices can arrive. Defaults to true.
        public var listensAtOnce = true

        /// Whether the ids of lists and the revisions increase by one. For tests that compare these numbers with those
        /// of another storage.
        package var countsUp = false

        /// The time for which a list is read without a request after its version was compared with the server. A notice
        /// of a change ends the time. With 0, a test can read with one store object what another store object has just
        /// committed.
        package var trust = CheckedLists.trust

        /// Creates settings with the default values.
        public init() {}
    }

    /// Settings of a copy of the pages that were read from the server, in a file on this machine.
    ///
    /// The copy is a cache. The server decides what a list holds. A page is served from the copy only if the page has
    /// the checksum of the server's row. The file can be removed at any time. The file belongs to one open store: a
    /// second open store with the same path uses no copy. The mode of the file is 0600.
    public struct LocalCopy: Hashable, Sendable {
        /// The path of the file. Missing directories are created.
        public var path: String
        /// The largest size of the file in bytes. A value below 1 MiB counts as 1 MiB. The least recently used pages
        /// are removed to keep the bound. Defaults to 256 MiB.
        public var bytes: Int

        /// Settings of a copy.
        /// - Parameters:
        ///   - path: the path of the file.
        ///   - bytes: the largest size of the file in bytes. A value below 1 MiB counts as 1 MiB. Defaults to 256 MiB.
        public init(path: String, bytes: Int = 256 << 20) {
            self.path = path
            self.bytes = bytes
        }
    }

    /// The failures that a commit survives once it has returned
    /// (https://www.postgresql.org/docs/15/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT).
    public enum Durability: Hashable, Sendable {
        /// The commit survives the end of every replica. After a crash of the server the newest commits may be missing,
        /// but the store is sound. The stamp of a version shows whether its commit is still there (R51).
        case normal
        /// The commit survives a crash of the server, too, at the cost of one flush per commit.
        case full
    }
}
#endif
