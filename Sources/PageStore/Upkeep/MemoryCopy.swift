import PageModel

/// The rows of a store without some of its pages. They are held in memory while the file is recreated on a full disk.
///
/// State: a connection to a database in memory. The eviction uses it to make the copy, and then to write it: never on
/// two threads at a time.
final class MemoryCopy: Sendable {
    // The two uses are calls that run one after the other.
    private nonisolated(unsafe) let connection: Connection
    private let now: Timestamp
    /// The pages that are left out.
    let removed: [Eviction.Candidate]

    /// - Parameter pages: the pages to leave out. Skips an offset where the page has changed since.
    init(of store: Connection, without pages: [Eviction.Candidate], at now: Timestamp) throws(StorageError) {
        let memory = try Connection(path: ":memory:")
        try RowChecksum.define(in: memory)
        try Migrator.migrate(memory, now: now)
        var rows = SalvagedRows(from: store, to: memory, at: now)
        try rows.copyAll()
        removed = try memory.transaction(.write) { () throws(StorageError) -> [Eviction.Candidate] in
            var removed: [Eviction.Candidate] = []
            for page in pages {
                if try Eviction.remove(page, in: memory) != nil { removed.append(page) }
            }
            return removed
        }
        connection = memory
        self.now = now
    }

    func write(to store: Connection) throws(StorageError) {
        var rows = SalvagedRows(from: connection, to: store, at: now)
        try rows.copyAll()
    }
}
