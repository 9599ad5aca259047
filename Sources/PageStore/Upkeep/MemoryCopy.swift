import PageModel

/// The rows of a store without some of its pages, in memory while the file is made anew on a full disk.
///
/// State: a connection to a database in memory. The eviction that makes the copy uses it, and then the one that writes
/// it: never two threads at a time.
final class MemoryCopy: Sendable {
    // Because the two uses are in order, each in a call that the other one waits for.
    private nonisolated(unsafe) let connection: Connection
    private let now: Timestamp

    init(of store: Connection, without pages: [Eviction.Candidate], at now: Timestamp) throws(StorageError) {
        let memory = try Connection(path: ":memory:")
        try Seal.define(in: memory)
        try Migrator.migrate(memory, now: now)
        var rows = SalvagedRows(from: store, to: memory, at: now)
        try rows.copyAll()
        try memory.transaction(.write) { () throws(StorageError) in
            for page in pages {
                guard let row = try PageTable.row(at: page.offset, of: page.query, in: memory) else { continue }
                try BodyTable.delete(row.body, of: page.query, in: memory)
                try PageTable.delete(at: page.offset, of: page.query, in: memory)
                try LedgerTable.forgetSuccess(at: page.offset, query: page.query, in: memory)
            }
        }
        connection = memory
        self.now = now
    }

    func write(to store: Connection) throws(StorageError) {
        var rows = SalvagedRows(from: connection, to: store, at: now)
        try rows.copyAll()
    }
}
