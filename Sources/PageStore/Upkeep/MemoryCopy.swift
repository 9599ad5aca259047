import PageModel

/// The rows of a store without some of its pages, in a database in memory. On a full disk, an eviction writes these
/// rows over the store's file. Each list gets a journal that starts again.
struct MemoryCopy {
    private let connection: Connection
    /// The pages that are left out.
    let removed: [Eviction.Candidate]

    /// Copies the rows of a store.
    /// - Parameter pages: the pages to leave out. A page that has changed since is copied.
    init(of store: Connection, without pages: [Eviction.Candidate], at now: Timestamp) throws(StorageError) {
        let memory = try Connection(path: ":memory:")
        try StoreOpening.stampBlank(memory)
        try RowChecksum.define(in: memory)
        try Migrator.migrate(memory, now: now)
        var rows = SalvagedRows(from: store, to: memory, at: now)
        try rows.copyAll()
        removed = try MemoryCopy.remove(pages, from: memory)
        connection = memory
    }

    /// Copies a store with damaged rows and sound b-trees page by page, so that the damaged rows stay as they are. A
    /// later repair needs these rows, and `verify` reports them.
    init(
        ofDamaged store: Connection, without pages: [Eviction.Candidate], at now: Timestamp
    ) throws(StorageError) {
        let memory = try Connection(path: ":memory:")
        try StoreImage.copy(store, to: memory)
        try RowChecksum.define(in: memory)
        var rows = SalvagedRows(from: memory, to: memory, at: now)
        try rows.beginJournals(try QueryTable.ids(in: memory))
        removed = try MemoryCopy.remove(pages, from: memory)
        connection = memory
    }

    private static func remove(
        _ pages: [Eviction.Candidate], from memory: Connection
    ) throws(StorageError) -> [Eviction.Candidate] {
        let removed = try memory.transaction(.write) { () throws(StorageError) -> [Eviction.Candidate] in
            var removed: [Eviction.Candidate] = []
            for page in pages {
                if try Eviction.remove(page, in: memory) != nil { removed.append(page) }
            }
            return removed
        }
        // The image has no unused pages, so that the file becomes shorter.
        try memory.execute("PRAGMA incremental_vacuum")
        return removed
    }

    func image() throws(StorageError) -> StoreImage { try StoreImage(of: connection) }
}
