#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel
import Synchronization

/// Notifies other processes of commits through a small file next to the store (R41). A process writes to the file with
/// one system call after a commit. The other processes watch it through the kernel.
///
/// The file is a table of stamps. Each process that writes locks the first byte of one row and uses that row. The
/// number of a query selects the column (`ChangeBroadcaster.column`). A stamp is a number that this cell of the table
/// did not hold before. A reader compares the table with its previous copy, and so finds the changed columns however
/// late it reads. The file never exceeds the size of the table, 128 KiB. A lost file costs only notices.
final class CrossProcessSignal: Sendable {
    private static let rows = 64

    let path: String
    private let descriptor: Int32
    /// The row of this process and its last stamp. `nil` until the process has written.
    private let own = Mutex<(row: Int, stamp: UInt64)?>(nil)

    /// Opens the file, and creates it when `create` is true. Returns nil when the file cannot be opened: no notices are
    /// exchanged then.
    init?(store: String, create: Bool) {
        path = store + "-notices"
        descriptor = open(path, (create ? O_CREAT | O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Announces to other processes that these queries changed. Call after the commit, because a reader notified
    /// earlier would find the old data.
    func stamp(_ queries: some Collection<QueryID>) {
        own.withLock { own in
            var (row, stamp) = own ?? (takeRow(), UInt64.random(in: 0...UInt64.max))
            // A commit nearly always changes one query, which needs no set.
            if queries.count == 1, let query = queries.first {
                write(ChangeBroadcaster.column(of: query), of: row, &stamp)
            } else {
                for column in Set(queries.map(ChangeBroadcaster.column)) { write(column, of: row, &stamp) }
            }
            own = (row, stamp)
        }
    }

    private func write(_ column: Int, of row: Int, _ stamp: inout UInt64) {
        stamp &+= 1
        let offset = (row * ChangeBroadcaster.columns + column) * 8
        // A lost notice only delays a reader, because the data itself is read from the store.
        _ = withUnsafeBytes(of: stamp.littleEndian) { pwrite(descriptor, $0.baseAddress, 8, off_t(offset)) }
    }

    /// Returns the columns in which the table differs from `seen`, and updates `seen`. Ignores the row of this process.
    func changes(since seen: inout [UInt64]) -> Set<Int> {
        let table = read()
        defer { seen = table }
        guard table != seen else { return [] }
        let ownRow = own.withLock { $0?.row }
        var columns: Set<Int> = []
        for index in table.indices where index >= seen.count || table[index] != seen[index] {
            if index / ChangeBroadcaster.columns != ownRow { columns.insert(index % ChangeBroadcaster.columns) }
        }
        return columns
    }

    func read() -> [UInt64] {
        var table = [UInt64](repeating: 0, count: CrossProcessSignal.rows * ChangeBroadcaster.columns)
        table.withUnsafeMutableBytes { _ = pread(descriptor, $0.baseAddress, $0.count, 0) }
        return table
    }

    /// Locks the first free row. When all other rows are taken, processes share the last row, which is never locked.
    /// Two processes that write to it at the same moment may then each miss the other's notice.
    private func takeRow() -> Int {
        for row in 0..<CrossProcessSignal.rows - 1 {
            if ByteLock(descriptor: descriptor).set(.exclusive, at: Int64(row * ChangeBroadcaster.columns * 8)) {
                return row
            }
        }
        return CrossProcessSignal.rows - 1
    }
}
