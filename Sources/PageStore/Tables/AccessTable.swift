import PageModel

/// The times at which pages were last read (R40). The store writes these times from time to time, so that a read needs
/// no write transaction.
enum AccessTable {
    private static let note = SQL(
        """
        INSERT INTO access (body, used_at) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM body WHERE id = ?1)
        ON CONFLICT DO UPDATE SET used_at = max(used_at, ?2)
        """)

    private static let find = SQL("SELECT used_at FROM access WHERE body = ?")

    static func usedAt(_ body: Int64, in connection: Connection) throws(StorageError) -> Timestamp? {
        let found = try connection.reaching(.accesses) { () throws(StorageError) in
            try connection.number(find, .int(body))
        }
        guard let found, let moment = found else { return nil }
        return Timestamp(milliseconds: moment).stored
    }

    static func note(_ bodies: Set<Int64>, at moment: Timestamp, in connection: Connection) throws(StorageError) {
        for body in bodies {
            try connection.reaching(.accesses) { () throws(StorageError) in
                try connection.run(note, .int(body), .time(moment.stored))
            }
        }
    }
}

/// The bodies that were read, by the number of their row.
typealias AccessLog = ReadLog<Int64>
