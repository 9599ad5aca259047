public import PageModel

extension PageStore {
    /// What to do when there is no store at the path, and what will be done with it.
    public enum Mode: Hashable, Sendable {
        /// Make one, with the directories that are missing.
        case createIfMissing
        /// Throw `StorageError.Code.notFound`.
        case mustExist
        /// Throw `notFound`, and change nothing, not even the file's log: for stores that may not be written, and for
        /// looking without touching. Writing throws `permission`.
        case readOnly
    }

    /// Settings of a store; the defaults are right for almost everybody.
    public struct Options: Hashable, Sendable {
        /// How long a commit waits for another process's commit before it throws `busy`. 0…. Default: 5 seconds.
        public var busyBudget: Duration = .seconds(5)
        /// What a commit survives. Default: `normal`.
        public var durability: Durability = .normal
        /// How many reads can run at the same time, 1 or more; each takes a connection of its own once it is needed.
        /// Default: 4.
        public var readers: Int = 4
        /// How long one transaction may compute before it throws `tookTooLong`: what a damaged or crafted file could do
        /// for ever (R46). More than 0. Default: 60 seconds.
        public var timeLimit: Duration = .seconds(60)
        /// How much of each list's journal of changes is kept (R48). Default: 1 MiB a list, and ten minutes in any
        /// case.
        public var journal = JournalBound()
        /// The SQLite VFS to use; nil for the default one. Tests put faults under a store with it.
        package var fileSystem: String?
        /// Never waits for the disk: what the power-loss test must catch.
        package var isUnsafe = false
        /// The size of the log from which on it is merged into the file, in bytes of database pages: see `LogMerger`.
        package var checkpointBytes = 4 << 20

        /// The defaults.
        public init() {}
    }

    /// What a commit survives, once it has returned (https://www.sqlite.org/pragma.html#pragma_synchronous).
    public enum Durability: String, Hashable, Sendable {
        /// The end of the process, always. After a power loss the newest commits may be missing; the store is sound.
        case normal = "NORMAL"
        /// A power loss too, at the cost of a sync per commit.
        case full = "FULL"
    }
}
