#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The rollback journal next to a store, as SQLite would apply it
/// (https://www.sqlite.org/fileformat2.html#the_rollback_journal).
///
/// A store has a write-ahead log. While its header says so, the only journal of the store itself is that of a change of
/// the journal mode. That journal restores the first page of the file, and changes only the mode and the counters
/// there. Any other journal belongs to another file, or to a program that was copying another file over the store.
struct RollbackJournal: Equatable {
    private static let mark: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    /// The bytes of the first page that a change of the journal mode may change. They are the mode, the change counter,
    /// the number of that change, and SQLite's version.
    private static let changing = [18..<20, 24..<28, 92..<100]

    /// The header of the journal. It contains a random number, which differs for each transaction.
    private let header: [UInt8]
    private let pageSize: Int
    /// The number of records in the file. Each restores a page.
    private let held: Int
    /// The number of records that SQLite applies before it looks for another header.
    private let records: Int
    /// The number of bytes to which SQLite cuts the store.
    private let length: Int
    /// The first record: the number of a page, the bytes of the page, and a checksum.
    private let first: [UInt8]

    /// Returns nil when there is no journal next to the store, or when SQLite would not apply it.
    init?(of path: String) {
        guard let header = RollbackJournal.bytes(of: path + "-journal", at: 0, count: 28),
            Array(header[..<8]) == RollbackJournal.mark
        else { return nil }
        func number(_ place: Int) -> Int { header[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        let count = number(8), sector = number(20)
        // In the journal, SQLite takes 0 as the page size of the store. In the header of the store, 1 means 65,536.
        let own = RollbackJournal.bytes(of: path, at: 16, count: 2).map { Int($0[0]) << 8 | Int($0[1]) } ?? 0
        let pageSize = number(24) == 0 ? own == 1 ? 65_536 : own : number(24)
        guard (512...65_536).contains(pageSize), (32...65_536).contains(sector) else { return nil }
        held = max(0, StoreFile.size(path + "-journal") - sector) / (pageSize + 8)
        self.header = header
        self.pageSize = pageSize
        records = count == 0xffff_ffff ? held : min(count, held)
        length = number(16) * pageSize
        first = RollbackJournal.bytes(of: path + "-journal", at: sector, count: pageSize + 4) ?? []
    }

    /// Whether the journal would change more of the store than its journal mode. For a store that another program has
    /// set to a rollback journal: whether the journal would damage it.
    func isForeign(to path: String) -> Bool {
        guard let form = RollbackJournal.bytes(of: path, at: 18, count: 2), form == [2, 2] else { return harms(path) }
        guard length == StoreFile.size(path), held <= 1 else { return true }
        guard records == 1 else { return false }
        guard first.prefix(4) == [0, 0, 0, 1], let page = RollbackJournal.bytes(of: path, at: 0, count: pageSize) else {
            return true
        }
        return zip(page, first.dropFirst(4)).enumerated().contains { index, pair in
            pair.0 != pair.1 && !RollbackJournal.changing.contains { $0.contains(index) }
        }
    }

    /// Returns whether the journal would damage a sound store, or would make another store of it. Returns false where
    /// that is not known.
    ///
    /// The store has no write-ahead log: another program has set it to a rollback journal. A journal of the store
    /// itself may change any page, so only the effect of a journal shows whether it belongs to the store.
    private func harms(_ path: String) -> Bool {
        CompanionTrial.outcome(of: "-journal", on: path) { RollbackJournal(of: path) == self } == .harmful
    }

    /// Reads bytes of a file. Returns nil where there is no such file, or where it ends earlier.
    private static func bytes(of path: String, at position: Int, count: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(descriptor, &bytes, count, off_t(position)) == count ? bytes : nil
    }
}
