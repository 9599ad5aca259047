#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel
import Synchronization

/// How processes that share a store tell each other that something was committed: a small file beside the store,
/// written with one system call after a commit, watched by the others through the kernel (R41).
///
/// The file is a table of stamps. Each process that writes takes a row of it, by a kernel lock on that row's first
/// byte; a query's number picks the column (`NoticeHub.column`). A stamp is a number that was not there before, so a
/// reader that compares the table with what it saw last knows which queries to look at, however late it comes: nothing
/// is lost, and nothing grows. Losing the file loses nothing but notices.
final class NoticeFile: Sendable {
    private static let rows = 64

    let path: String
    private let descriptor: Int32
    /// Nil as long as this process has not written; then its row, and its next stamp.
    private let own = Mutex<(row: Int, stamp: UInt64)?>(nil)

    /// Opens the file, and makes it when `create` says so; nil when that cannot be: then nobody is told.
    init?(store: String, create: Bool) {
        path = store + "-notices"
        descriptor = open(path, (create ? O_CREAT | O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Tells the other processes that these queries changed. Call after the commit, or they would look too early.
    func stamp(_ queries: some Collection<QueryID>) {
        own.withLock { own in
            var (row, stamp) = own ?? (takeRow(), UInt64.random(in: 0...UInt64.max))
            // Nearly always there is one, and that needs no set.
            if queries.count == 1, let query = queries.first {
                write(NoticeHub.column(of: query), of: row, &stamp)
            } else {
                for column in Set(queries.map(NoticeHub.column)) { write(column, of: row, &stamp) }
            }
            own = (row, stamp)
        }
    }

    private func write(_ column: Int, of row: Int, _ stamp: inout UInt64) {
        stamp &+= 1
        let offset = (row * NoticeHub.columns + column) * 8
        // A notice that cannot be written is late, not wrong: whoever reads the store reads the truth.
        _ = withUnsafeBytes(of: stamp.littleEndian) { pwrite(descriptor, $0.baseAddress, 8, off_t(offset)) }
    }

    /// The columns in which the table differs from `seen`, which becomes the table; our own row does not count.
    func changes(since seen: inout [UInt64]) -> Set<Int> {
        let table = read()
        defer { seen = table }
        guard table != seen else { return [] }
        let ownRow = own.withLock { $0?.row }
        var columns: Set<Int> = []
        for index in table.indices where index >= seen.count || table[index] != seen[index] {
            if index / NoticeHub.columns != ownRow { columns.insert(index % NoticeHub.columns) }
        }
        return columns
    }

    func read() -> [UInt64] {
        var table = [UInt64](repeating: 0, count: NoticeFile.rows * NoticeHub.columns)
        table.withUnsafeMutableBytes { _ = pread(descriptor, $0.baseAddress, $0.count, 0) }
        return table
    }

    /// The first row that nobody else holds. With more writers than rows the last row is shared, and two that write at
    /// the same moment may each miss the other's notice.
    private func takeRow() -> Int {
        for row in 0..<NoticeFile.rows - 1 {
            if ByteLock(descriptor: descriptor).set(.exclusive, at: Int64(row * NoticeHub.columns * 8)) { return row }
        }
        return NoticeFile.rows - 1
    }
}
