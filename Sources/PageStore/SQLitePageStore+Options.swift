public import PageModel

extension SQLitePageStore {
    /// The action when there is no store at the path, and the access to the store.
    public enum Mode: Hashable, Sendable {
        /// Creates a store, with missing directories.
        case createIfMissing
        /// Throws `StorageError.Code.notFound` when there is no store.
        case mustExist
        /// Throws `notFound` when there is no store. Changes neither the store nor its log, and every write throws
        /// `permission`. For stores that must not be written, and for inspection.
        case readOnly
    }

    /// Settings of a store. The defaults suit most programs.
    public struct Options: Hashable, Sendable {
        /// The longest time that a commit waits for commits of other processes before it throws `busy` (R42). 0 or
        /// more. Defaults to 5 seconds.
        public var busyBudget: Duration = .seconds(5)
        /// The failures that a commit survives. Defaults to `normal`.
        public var durability: Durability = .normal
        /// The largest number of concurrent reads. Each uses a connection of its own, opened on demand. The range is 1
        /// to 1,000; other values are clamped. Defaults to 4.
        public var readers: Int = 4
        /// `readers`, within its range.
        var readerCount: Int { min(max(1, readers), 1_000) }
        /// The longest time that one transaction may compute before it throws `tookTooLong`. A damaged or crafted file
        /// could otherwise keep a statement running forever (R46). More than 0. Defaults to 60 seconds.
        public var timeLimit: Duration = .seconds(60)
        /// The bound of the journal of each list's changes (R48). Defaults to 1 MiB per list. Entries younger than ten
        /// minutes are kept beyond the bound, see `JournalBound`.
        public var journal = JournalBound()
        /// The name of the SQLite VFS to use. `nil` means the default one. Tests inject faults with it.
        package var fileSystem: String?
        /// Whether this process excludes all others from the store. A store with a rollback journal can then be
        /// opened even when the disk is full.
        package var isAlone = false
        /// Whether no write is synced to the disk. A store from `inMemory` needs no sync. The power-loss test uses this
        /// option as a fault that it must detect.
        package var isUnsafe = false
        /// The size of the log at which it is merged into the file, in bytes of database pages. See `LogMerger`.
        package var checkpointBytes = 4 << 20

        /// Creates settings with the default values.
        public init() {}
    }

    /// The failures that a commit survives once it has returned
    /// (https://www.sqlite.org/pragma.html#pragma_synchronous).
    public enum Durability: String, Hashable, Sendable {
        /// The commit survives the end of the process. After a power loss the newest commits may be missing, but the
        /// store is sound.
        case normal = "NORMAL"
        /// The commit survives a power loss, too, at the cost of one sync per commit.
        case full = "FULL"
    }
}
