import PageModel

/// The random number that identifies a store, and its position in the file.
///
/// Another program can overwrite the file in place while it is open, as `cp` does. The path then leads to the same
/// file, and SQLite continues with cached pages. So the number is compared with the bytes of the file, bypassing
/// SQLite. That detects another store or another kind of file. It cannot detect an older copy of the same store.
struct StoreStamp: Equatable {
    private let number: Int64
    /// The position of the number in the file, in bytes. The seal of the number is directly before it.
    let position: Int64
    /// Whether the number was read from the file. Before the first merge of the log the file may lack the page with it.
    private var isInFile = false

    private static let stored = SQL("SELECT stamp, seal FROM store WHERE id = 1")
    private static let store = SQL("INSERT OR REPLACE INTO store (id, seal, stamp) VALUES (1, ?, ?)")
    private static let root = SQL("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'store'")

    /// Reads the stamp of an open store. Returns `nil` when it is damaged; `verify` reports that.
    init?(of connection: Connection) throws(StorageError) {
        guard let number = try StoreStamp.intact(in: connection), let root = try connection.number(StoreStamp.root),
            root > 0
        else { return nil }
        self.number = number
        // The table has one row. Its cell ends where its page ends, and the stamp is the last column of the row.
        position = try connection.pragma("page_size").multipliedReportingOverflow(by: root).partialValue - 8
    }

    /// Creates a stamp from the values in a file. Returns `nil` when the seal does not match the number.
    init?(position: Int64, seal: UInt64, number: UInt64) {
        self.number = Int64(bitPattern: number)
        self.position = position
        guard position > 0, seal == StoreStamp.seal(of: self.number) else { return nil }
    }

    /// The position, the seal and the number.
    var words: [UInt64] { [UInt64(bitPattern: position), StoreStamp.seal(of: number), UInt64(bitPattern: number)] }

    static func == (left: StoreStamp, right: StoreStamp) -> Bool {
        left.number == right.number && left.position == right.position
    }

    /// Checks that the file of the connection is still the store that was opened.
    /// - Throws: `damaged` when the file was overwritten.
    mutating func check(_ connection: Connection) throws(StorageError) {
        guard !isShown(in: connection) else { return }
        // A VACUUM of another program can move the table to another page.
        guard var moved = try? StoreStamp(of: connection), moved.number == number, moved.position != position,
            moved.isShown(in: connection)
        else { throw StorageError(.damaged, "\(connection.path) was overwritten while it was open") }
        self = moved
    }

    /// Returns whether the file has the number in its place, or has no page for it yet.
    private mutating func isShown(in connection: Connection) -> Bool {
        guard let found = connection.bytesOfFile(at: position) else { return !isInFile }
        guard found == UInt64(bitPattern: number) else { return !isInFile && found == 0 }
        isInFile = true
        return true
    }

    /// Returns the stamp. Returns `nil` when there is none, or when it is damaged or cannot be read.
    static func intact(in connection: Connection) throws(StorageError) -> Int64? {
        let row: (stamp: Int64, seal: UInt64)?
        do throws(StorageError) {
            row = try connection.first(stored) { row throws(StorageError) in (stamp: row.int64(0), seal: row.hash(1)) }
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
        guard let row, row.seal == seal(of: row.stamp) else { return nil }
        return row.stamp
    }

    /// Gives the store a new stamp when it has none, or a damaged one. Call inside a write transaction.
    static func renewUnlessIntact(in connection: Connection) throws(StorageError) {
        guard try intact(in: connection) == nil else { return }
        // Numbers of this size always take eight bytes in the file.
        let stamp = Int64.random(in: 1 << 62 ... .max)
        try connection.run(store, .hash(seal(of: stamp)), .int(stamp))
    }

    private static func seal(of stamp: Int64) -> UInt64 {
        var seal = RowChecksum(RowChecksum.store)
        seal.mix(stamp)
        return seal.value
    }
}
