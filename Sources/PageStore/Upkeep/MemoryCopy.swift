import PageModel

/// The rows of a store without some of its pages, in a database in memory. They are written over the store's file on a
/// full disk.
struct MemoryCopy {
    private let connection: Connection
    /// The pages that are left out.
    let removed: [Eviction.Candidate]

    /// - Parameter pages: the pages to leave out. Skips an offset where the page has changed since.
    init(of store: Connection, without pages: [Eviction.Candidate], at now: Timestamp) throws(StorageError) {
        let memory = try Connection(path: ":memory:")
        try StoreOpening.stampBlank(memory)
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
        // The image has no unused pages, so that the file becomes shorter.
        try memory.execute("PRAGMA incremental_vacuum")
        connection = memory
    }

    func image() throws(StorageError) -> StoreImage { try StoreImage(of: connection) }
}
