#if PostgreSQL
public import PageModel
import Synchronization

/// The PostgreSQL implementation of `PageStorage`: one store for many replicas of a program, on many machines.
///
/// Every commit locks the record of its list, so that commits of one list follow each other and those of different
/// lists do not wait. No state is kept in a session, so that a pooler in transaction mode may stand between. Notices of
/// other replicas arrive within milliseconds where the server delivers them, and within the poll interval otherwise.
public final class PostgreSQLPageStore: PageStorage {
    /// The name of the store for people: host, database and schema, without a password.
    public let name: String

    let options: Options
    let server: Server
    let isReadOnly: Bool
    let accesses: ReadLog<ReadBody>
    let liveness: Liveness
    let announcer: ServerChangeNotifier
    /// The local copy; `nil` means that every read of items is a request to the server.
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

    /// The clock that the caller passed; `nil` means the server's.
    package var callersClock: (any StorageClock)? { server.clock }

    /// A random number for a version (R51).
    func nextStamp() -> UInt64 { stamps.withLock { $0.next() } }

    func checkWritable() throws(StorageError) {
        guard !isReadOnly else { throw StorageError(.permission, "\(name) is open for reading only") }
    }
}

extension PostgreSQLPageStore {
    /// The action when there is no store, and the access to the store.
    public enum Mode: Hashable, Sendable {
        /// Creates the schema and its tables.
        case createIfMissing
        /// Throws `StorageError.Code.notFound` when there is no store.
        case mustExist
        /// Throws `notFound` when there is no store. Changes nothing, and every write throws `permission`.
        case readOnly
    }

    /// Settings of a store. The defaults suit most programs.
    public struct Options: Hashable, Sendable {
        /// The schema that holds the tables. Its name has 1 to 63 bytes of UTF-8. Defaults to `pagecache`.
        public var schema = "pagecache"
        /// The number of connections; 1 or more. Calls share them. Notices and heartbeats have one more each.
        /// Defaults to 4.
        public var connections = 4
        /// The longest time that a call waits for the server and for commits of other replicas before it throws `busy`
        /// or `unavailable` (R42). More than 0. Defaults to 5 seconds.
        public var busyBudget: Duration = .seconds(5)
        /// The longest time of a call that reads or writes a whole list or a whole store. More than 0. Defaults to 60
        /// seconds. `verify` and `repair` may take a day.
        public var timeLimit: Duration = .seconds(60)
        /// The failures that a commit survives. Defaults to `normal`.
        public var durability: Durability = .normal
        /// The bound of the journal of each list's changes (R48). Defaults to 1 MiB per list. Entries younger than ten
        /// minutes are kept beyond the bound.
        public var journal = JournalBound()
        /// The time after which the leases of a replica that gave no heartbeat are void. The replica renews its row
        /// every third of it. 3 seconds or more. Defaults to 30 seconds.
        public var ownerLease: Duration = .seconds(30)
        /// The longest time until changes of other replicas are noticed where the server delivers no notices. Where it
        /// does, a change whose notice was lost is noticed within ten times as long. 10 milliseconds or more. Defaults
        /// to 1 second.
        public var pollInterval: Duration = .seconds(1)

        /// A copy of the pages that were read, in a file of this machine. Defaults to `nil`: every read of items is a
        /// request to the server.
        public var localCopy: LocalCopy?

        /// Whether opening the store waits until notices of other replicas arrive, for a tenth of the busy budget at
        /// most. Otherwise the first observer begins to listen, and receives a notice to read again once the server
        /// listens. Defaults to true.
        public var listensAtOnce = true

        /// Whether the numbers of lists, and the revisions, count up by one. For tests that compare them with those of
        /// another storage.
        package var countsUp = false

        /// How long a list whose version was compared is read without a request, while no notice of a change arrives.
        /// Tests set 0 to read with one store object what another one has just committed.
        package var trust = CheckedLists.trust

        /// Creates settings with the default values.
        public init() {}
    }

    /// Settings of a copy of the pages that were read from the server, in a file of this machine.
    ///
    /// The copy is a cache. The server decides what a list holds, and a page is served from the copy only if the
    /// server's row of the page has its checksum. The file can be removed at any time. It belongs to one open store: a
    /// second open store with the same path uses no copy. The mode of the file is 0600.
    public struct LocalCopy: Hashable, Sendable {
        /// The path of the file. Missing directories are created.
        public var path: String
        /// The largest size of the file in bytes. The least recently used pages are removed. Defaults to 256 MiB.
        public var bytes: Int

        /// Settings of a copy.
        /// - Parameters:
        ///   - path: the path of the file.
        ///   - bytes: the largest size of the file in bytes; 1 MiB or more. Defaults to 256 MiB.
        public init(path: String, bytes: Int = 256 << 20) {
            self.path = path
            self.bytes = bytes
        }
    }

    /// The failures that a commit survives once it has returned
    /// (https://www.postgresql.org/docs/15/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT).
    public enum Durability: Hashable, Sendable {
        /// The commit survives the end of every replica. After a crash of the server the newest commits may be missing,
        /// but the store is sound, and every version shows it by its stamp (R51).
        case normal
        /// The commit survives a crash of the server, too, at the cost of one flush per commit.
        case full
    }
}
#endif
