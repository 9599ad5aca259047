public import PageModel
import Synchronization

extension SQLitePageStore {
    /// Opens an empty store that leaves nothing behind, for previews and tests.
    ///
    /// The store behaves like a store at a path, also with several readers. Its file is in memory where the system has
    /// a file system for that (`/dev/shm`), and otherwise in the temporary directory. `close()` removes the file. A
    /// file that a killed process has left is removed when a later process opens such a store.
    /// - Parameters:
    ///   - options: the settings. Defaults to `Options()`.
    ///   - clock: the source of every stored time and of the ends of leases (R52). Defaults to the system's clock.
    ///   - stamps: the generator of version stamps (R51). Defaults to the system's random numbers.
    /// - Throws: `StorageError` with `cannotCreate` or `full` when there is no room for the file.
    public static func inMemory(
        options: Options = Options(), clock: any StorageClock = SystemStorageClock(),
        stamps: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) async throws(StorageError) -> SQLitePageStore {
        let folder = try ScratchFolder()
        var options = options
        // A power loss leaves nothing of such a store, so no write has to reach a disk.
        options.isUnsafe = true
        let store = try await open(at: "\(folder.path)/store.sqlite", options: options, clock: clock, stamps: stamps)
        store.scratch.withLock { $0 = folder }
        return store
    }
}
