import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The numbers in the header of a store's file that have one right value
/// (https://www.sqlite.org/fileformat2.html#the_database_header). No checksum covers the header.
///
/// The tables of a store prove its mark and its schema version if two conditions hold. Their schema text equals that of
/// this package, and the records of the applied migrations have the right checksums.
enum StoreHeader {
    private static let length = 100
    /// The write version and the read version: 2 for a file with a write-ahead log, 1 without. SQLite does not write a
    /// file with a larger write version, and does not open a file with a larger read version.
    private static let formats = 18..<20
    private static let largestFormat: UInt8 = 2
    private static let schemaVersion = 60..<64
    private static let mark = 68..<72

    static func wrongMark(_ path: String) -> String { "the application id in the header of \(path) is damaged" }
    static func wrongVersion(_ path: String) -> String { "the schema number in the header of \(path) is damaged" }
    private static func wrongFormat(_ path: String) -> String {
        "the format numbers in the header of \(path) are damaged"
    }

    // MARK: Finding

    /// Returns the problem that makes SQLite refuse to write the file of an open store. Returns nil if there is none.
    static func problem(of connection: Connection) -> String? {
        // The log may hold the right header.
        guard sqlite3_db_readonly(connection.handle, "main") == 1, let word = connection.bytesOfFile(at: 16),
            [word >> 40, word >> 32].contains(where: { UInt8(truncatingIfNeeded: $0) > largestFormat })
        else { return nil }
        return wrongFormat(connection.path)
    }

    /// Throws `damaged` if a damaged header makes SQLite refuse to write the file.
    static func checkWritable(_ connection: Connection) throws(StorageError) {
        if let problem = problem(of: connection) { throw StorageError(.damaged, problem) }
    }

    /// Returns the schema version that follows from the tables of a file, whatever its header says. Returns nil for any
    /// other file. Changes nothing, creates no file, and ignores a log.
    ///
    /// Call while this process does not have the file open, see `OpenStores`.
    static func provenVersion(of path: String) -> Int? {
        guard let connection = try? Connection(path: path, .immutable) else { return nil }
        do throws(StorageError) {
            try StoreOpening.harden(connection, SQLitePageStore.Options())
            return try Migrator.provenVersion(of: connection)
        } catch {
            return nil
        }
    }

    // MARK: Repairing

    /// Restores the numbers of the header that are damaged and known.
    /// - Returns: the problems that were found and repaired. Empty if nothing was changed.
    /// - Throws: `busy` when a process has the file open.
    static func repair(_ path: String) throws(StorageError) -> [String] {
        let inUse = StorageError(.busy, "\(path) is in use; end the processes that have it open")
        guard try isDamaged(path, otherwise: inUse) else { return [] }
        return try Recreation.whileAlone(with: path, otherwise: inUse) { () throws(StorageError) in
            let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { throw StoreFile.failure(.inputOutput, "cannot open \(path)") }
            defer { close(descriptor) }
            var problems: [String] = []
            // SQLite reads the tables only once the format numbers are right.
            while let first = try damage(of: path).first, !problems.contains(first.problem) {
                problems.append(first.problem)
                let (bytes, place) = (first.bytes, off_t(first.place.lowerBound))
                guard pwrite(descriptor, bytes, bytes.count, place) == bytes.count, fsync(descriptor) == 0 else {
                    throw StoreFile.failure(.inputOutput, "cannot write \(path)")
                }
            }
            return problems
        }
    }

    /// Returns whether ``repair(_:)`` would change the header. Throws `inUse` when this process has the file open.
    static func isDamaged(_ path: String, otherwise inUse: StorageError) throws(StorageError) -> Bool {
        try OpenStores.whileClosed(path, otherwise: inUse) { () throws(StorageError) in try !damage(of: path).isEmpty }
    }

    /// A damaged number, and the bytes that replace it.
    private struct Damage {
        var problem: String
        var place: Range<Int>
        var bytes: [UInt8]

        init(_ problem: String, _ place: Range<Int>, _ bytes: [UInt8]) {
            (self.problem, self.place, self.bytes) = (problem, place, bytes)
        }

        init(_ problem: String, _ place: Range<Int>, _ number: UInt32) {
            self.init(problem, place, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
        }
    }

    /// Returns the damaged numbers whose right values are known. Call while this process does not have the file open,
    /// see `OpenStores`.
    private static func damage(of path: String) throws(StorageError) -> [Damage] {
        guard let header = try bytes(of: path) else { return [] }
        func number(_ place: Range<Int>) -> UInt32 { header[place].reduce(0) { $0 << 8 | UInt32($1) } }
        let isMarked = number(mark) == StoreFile.applicationID
        if isMarked, header[formats].contains(where: { $0 > largestFormat }) {
            return [Damage(wrongFormat(path), formats, [largestFormat, largestFormat])]
        }
        let version = number(schemaVersion)
        guard let proven = provenVersion(of: path) else { return [] }
        var damage: [Damage] = []
        if !isMarked { damage.append(Damage(wrongMark(path), mark, StoreFile.applicationID)) }
        if version != UInt32(proven) { damage.append(Damage(wrongVersion(path), schemaVersion, UInt32(proven))) }
        return damage
    }

    /// Returns the header of a database, or `nil` for any other file.
    private static func bytes(of path: String) throws(StorageError) -> [UInt8]? {
        guard StoreFile.isOrdinaryOrMissing(path) else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFile.failure(.inputOutput, "cannot open \(path)") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: length)
        guard pread(descriptor, &header, length, 0) == length, header.starts(with: Array("SQLite format 3\0".utf8))
        else { return nil }
        return header
    }
}
